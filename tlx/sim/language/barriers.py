"""Arrivals, also on barriers of other CTAs."""

from __future__ import annotations

from typing import Any

from ..unwrap import integer
from .register import name


@name
def barrier_arrive(
    bar: Any, arrive_count: int = 1, remote_cta_rank: Any = None, pred: Any = None, _semantic: Any = None
) -> None:
    """``arrive_count`` arrivals on ``bar``, or on the barrier at its place in CTA ``remote_cta_rank``."""
    _semantic.mbarrier_arrive(bar, integer(arrive_count), pred, remote_cta_rank)


@name
def remote_view(local_allocated_buffer: Any, remote_cta_rank: Any, _semantic: Any = None) -> Any:
    """The barrier at the same place in another CTA."""
    return _semantic.remote_view(local_allocated_buffer, remote_cta_rank)
