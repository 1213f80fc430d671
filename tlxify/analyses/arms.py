"""One value out of two arms that the kernel's compilation settles: masks and loads that differ in what they mask.

`if EVEN_K: a = tl.load(p) else: a = tl.load(p, mask=offs_k < K, other=0.0)` loads one tile in two ways. The arm that
masks less says that nothing lies beyond: where the launch confirms it, both are the load that masks everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..facts import Condition
from ..poly import Poly
from .access import zero_fill
from .events import LoadEvent
from .values import MISSING, Bound, Origin, Value

if TYPE_CHECKING:
    from .axes import AxisTable
    from .events import Events, Place


@dataclass(frozen=True, slots=True)
class Choice:
    """A test settled when the kernel is compiled, and what both arms have in common."""

    test: Poly
    #: Whether the first arm is taken where the test holds.
    holds: bool
    #: The branch, or the statement that holds the conditional expression.
    place: Place
    #: Scalars in scope before the branch.
    scope: tuple[tuple[str, Poly], ...]

    def condition(self, *, first: bool) -> Condition:
        """Under which one of the arms is taken."""
        return Condition(self.test, self.holds == first)


def join_masks(axes: AxisTable, first: Value, second: Value, choice: Choice) -> Value | None:
    """The mask that holds all bounds of both, each waived where its arm is not taken; None if one is no mask."""
    masks = (first, second)
    if not any(mask.bounds is not None for mask in masks):
        return None
    if not all(mask.bounds is not None or mask.literal is None or mask.literal is True for mask in masks):
        return None
    held = [{(b.dim, b.index): b for b in mask.bounds or ()} for mask in masks]
    bounds = [_joined(key, held[0].get(key), held[1].get(key), choice) for key in {**held[0], **held[1]}]
    return Value(
        axes=axes.broadcast(*(mask.axes for mask in masks)),
        bounds=tuple(bounds),
        partial=first.partial or second.partial,
        loads=first.loads | second.loads,
    )


def _joined(key: tuple[int, Poly], first: Bound | None, second: Bound | None, choice: Choice) -> Bound:
    waived: list[tuple[Condition, ...]] = []
    for bound, taken in ((first, True), (second, False)):
        here = choice.condition(first=taken)
        waived += [(here,)] if bound is None else [(here, *others) for others in bound.waived]
    return Bound(*key, waived=tuple(waived))


def join_loads(events: Events, axes: AxisTable, first: Value, second: Value, name: str, choice: Choice) -> Value | None:
    """One load for two of the same tile: recorded beside them as what both arms do; None if they differ otherwise."""
    if (
        choice.place.helpers
        or first.origin.load is None
        or second.origin.load is None
        or first.origin.transposed != second.origin.transposed
    ):
        return None
    loads = tuple(events.loads[value.origin.load] for value in (first, second) if value.origin.load is not None)
    if not all(zero_fill(load.other) for load in loads) or not _same_tile(axes, *loads):
        return None
    one, other = (load.mask or Value(literal=True) for load in loads)
    mask = one if one == other else join_masks(axes, one, other, choice)
    if (mask is None and any(load.mask is not None for load in loads)) or (mask is not None and mask.partial):
        return None
    number = len(events.loads)
    parts = tuple(part for load in loads for part in (load.parts or (load.id,)))
    tightest = max(loads, key=lambda load: len(load.mask.bounds or ()) if load.mask is not None else 0)
    place = replace(choice.place, span=tightest.place.span)
    masked = mask if mask is not None and mask.literal is MISSING else None
    events.loads.append(LoadEvent(place, number, name, loads[0].address, masked, None, choice.scope, parts=parts))
    read = first.loads | second.loads | {number}
    origin = Origin("load", number, first.origin.transposed)
    return Value(axes=axes.broadcast(first.axes, second.axes), origin=origin, loads=read)


def _same_tile(axes: AxisTable, first: LoadEvent, second: LoadEvent) -> bool:
    def form(event: LoadEvent) -> tuple[object, ...]:
        address = event.address
        roots = tuple(None if axis is None else axes.find(axis) for axis in address.axes)
        box = replace(event.box, axes=()) if event.box is not None else None
        return (address.poly, address.terms, tuple(axis is None for axis in roots), box)

    return form(first) == form(second) and first.address.poly is not None and _both_or_none(first, second)


def _both_or_none(first: LoadEvent, second: LoadEvent) -> bool:
    """A box says what is checked by itself: it is no arm of a masked load."""
    return (first.box is None) == (second.box is None) and (first.box is None or first.checked == second.checked)
