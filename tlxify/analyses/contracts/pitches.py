"""Sizes that no parameter holds, and a stride tells: rows `H` elements apart hold `H` of what lies side by side.

`lse[t, program_id(1)]` with rows of `H` elements is right for as many programs as a row has elements, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...poly import ZERO, Poly
from ..texts import polynomial, words
from .views import View


def pitches(views: Iterable[View], free: Iterable[str], chosen: frozenset[str]) -> dict[str, str]:
    """What each free size is at most, by the next longer stride of its own memory.

    Args:
        views: of all memories.
        free: sizes that no parameter holds.
        chosen: strides that a launch chooses: wide enough for whatever lies within.
    """
    open_ones, found = set(free), dict[str, dict[str, None]]()
    for view in views:
        strides = [polynomial(text) for text in view.strides]
        for extent, stride in zip(view.shape, strides, strict=True):
            if extent not in open_ones or not stride.monomial:
                continue
            ratios = [ratio for other in strides if (ratio := _ratio(other, stride)) is not None]
            shortest = min(ratios, key=lambda ratio: len(ratio.terms[0][0]), default=None)
            if shortest is not None and not words([text := shortest.text()]) & chosen:
                found.setdefault(extent, {})[text] = None
    return {size: next(iter(e)) if len(e) == 1 else f"min({', '.join(e)})" for size, e in found.items()}


def _ratio(longer: Poly, stride: Poly) -> Poly | None:
    """How many strides make a longer one, where the sizes tell."""
    ratio, rest = longer.divide(stride)
    return ratio if rest == ZERO and ratio.monomial and ratio.constant is None else None
