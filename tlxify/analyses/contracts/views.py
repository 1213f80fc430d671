"""One memory seen in several ways: as a matrix and as its rows, under a transposition, in chunks and as a whole.

Where a launch may choose the strides, the views are laid over each other stride by stride. Where the strides are
products of sizes the memory is a plain row of elements, and as long as the view that reaches furthest; if every view
ends at the same element, the one with the most axes says best what the memory is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...poly import ONE, Poly
from ..texts import polynomial, words


@dataclass(frozen=True, slots=True)
class View:
    """What one access reaches: extents and strides of its dimensions, outermost first, as contract expressions."""

    shape: tuple[str, ...]
    strides: tuple[str, ...]

    def with_strides(self, known: Mapping[str, str]) -> View:
        """The view with some strides written as what they are."""
        return View(self.shape, tuple(known.get(stride, stride) for stride in self.strides))

    @property
    def length(self) -> Poly:
        """Elements from the beginning of the memory to the last one reached."""
        pairs = zip(self.shape, self.strides, strict=True)
        total = ONE
        for extent, stride in pairs:
            total += (polynomial(extent) - ONE) * polynomial(stride)
        return total

    @property
    def dense(self) -> bool:
        """Every element up to the last belongs to exactly one position, whatever the sizes."""
        left = [(polynomial(e), polynomial(s)) for e, s in zip(self.shape, self.strides, strict=True)]
        size = ONE
        while left:
            pair = next((pair for pair in left if pair[1] == size), None)
            if pair is None:
                return False
            left.remove(pair)
            size = size * pair[0]
        return True


def tied(views: Iterable[View], chosen: frozenset[str]) -> dict[str, str]:
    """Strides that are no choice, by what they are: another view of the memory has the same axes and fixed strides."""
    known = list(views)
    found: dict[str, str] = {}
    for fixed in (view for view in known if not words(view.strides) & chosen):
        by_extent = dict(zip(fixed.shape, fixed.strides, strict=True))
        for view in known:
            if len(by_extent) == len(view.shape) and {*view.shape} == by_extent.keys():
                pairs = zip(view.shape, view.strides, strict=True)
                found |= {stride: by_extent[extent] for extent, stride in pairs if stride in chosen}
    return found


def merged(views: Iterable[View], chosen: frozenset[str], *, written: bool) -> View:
    """One view of a memory that holds all of the `views`.

    Args:
        views: at least one.
        chosen: names of strides that a launch chooses.
        written: no two positions of the result may share an element.
    """
    distinct = list(dict.fromkeys(views))
    first, *others = distinct
    free = bool(words(stride for view in distinct for stride in view.strides) & chosen)
    if not others and (free or not written or first.dense):
        return first
    if free:
        return _laid_over(distinct)
    lengths = list(dict.fromkeys(view.length for view in distinct))
    if len(lengths) == 1:
        dense = [view for view in distinct if view.dense]
        if dense:
            return max(dense, key=lambda view: len(view.shape))
    return View((longest(length.text() for length in lengths),), ("1",))


def longest(lengths: Iterable[str]) -> str:
    """The largest of some sizes, as an expression."""
    known = list(dict.fromkeys(lengths))
    return known[0] if len(known) == 1 else f"max({', '.join(known)})"


def _laid_over(views: list[View]) -> View:
    order = max(views, key=lambda view: len(view.strides))
    extents: dict[str, list[str]] = {stride: [] for view in [order, *views] for stride in view.strides}
    for view in views:
        own: dict[str, Poly] = {}
        for extent, stride in zip(view.shape, view.strides, strict=True):
            own[stride] = own[stride] + polynomial(extent) - ONE if stride in own else polynomial(extent)
        for stride, length in own.items():
            extents[stride].append(length.text())
    # What is surely contiguous stays the last axis.
    strides = sorted(extents, key=lambda stride: stride == "1")
    return View(tuple(longest(extents[stride]) for stride in strides), tuple(strides))
