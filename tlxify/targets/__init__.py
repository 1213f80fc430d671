"""Numbers and legal moves per chip: one small file each."""

from __future__ import annotations

from .hopper import HOPPER, Target

__all__ = ["HOPPER", "Target"]
