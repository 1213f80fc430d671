"""Reads plain Triton kernels, rewrites them as warp-specialized TLX, proves that nothing changed but the speed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pipeline import analyze, convert

__all__ = ["analyze", "convert"]


def __getattr__(name: str) -> Any:
    """Loads the converter when it is asked for: verifying on a GPU machine must not need libcst."""
    if name in __all__:
        from . import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
