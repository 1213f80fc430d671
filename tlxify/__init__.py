"""tlxify reads plain Triton kernels, rewrites them as warp-specialized TLX, and proves that nothing changed but the speed."""

from __future__ import annotations

from tlxify.pipeline import analyze, convert

__all__ = ["analyze", "convert"]
