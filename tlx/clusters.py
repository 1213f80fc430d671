"""Thread-block clusters: so far only what has a meaning in a kernel without them."""

from __future__ import annotations

from typing import Any

from .builtin import builtin


@builtin
def cluster_cta_rank(_semantic: Any = None) -> Any:
    """Rank of this CTA in its cluster, an i32 scalar; 0 in a kernel launched without clusters."""
    return _semantic.cluster_rank()
