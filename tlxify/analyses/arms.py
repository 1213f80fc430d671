"""One value out of two arms that the kernel's compilation settles: masks and loads that differ in what they mask.

`if EVEN_K: a = tl.load(p) else: a = tl.load(p, mask=offs_k < K, other=0.0)` loads one tile in two ways. The arm that
masks less says that nothing lies beyond: where the launch confirms it, both are the load that masks everything.
`if TRANS_A: a = tl.trans(tl.load(p of K rows)) else: a = tl.load(p of M rows)` loads one tile that lies in one of two
orders: both are one load with strides that the flag chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..facts import Condition
from ..poly import Poly
from .access import zero_fill
from .chosen import Chooser, affine
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
    #: Names that are no numbers: which of two a test chooses no launch-constant says.
    pointers: frozenset[str] = frozenset()

    @property
    def chooser(self) -> Chooser:
        """For numbers and addresses that the test chooses between."""
        return Chooser(self.test, holds=self.holds, pointers=self.pointers)

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
    """One load for two of the same tile: recorded beside them as what both arms do; None if they differ otherwise.

    The tiles may lie in different orders, and one arm may transpose its own: then a flag chooses the strides.
    """
    if choice.place.helpers or first.origin.load is None or second.origin.load is None:
        return None
    loads = (events.loads[first.origin.load], events.loads[second.origin.load])
    if not all(zero_fill(load.other) for load in loads) or any(load.volatile for load in loads):
        return None
    turned = first.origin.transposed and second.origin.transposed
    one, other = (
        _turned(load) if value.origin.transposed != turned else load
        for load, value in zip(loads, (first, second), strict=True)
    )
    address = _one_address(axes, one, other, choice)
    if address is None:
        return None
    masks = (one.mask or Value(literal=True), other.mask or Value(literal=True))
    mask = masks[0] if masks[0] == masks[1] else join_masks(axes, *masks, choice)
    if (mask is None and any(load.mask is not None for load in loads)) or (mask is not None and mask.partial):
        return None
    number = len(events.loads)
    parts = tuple(part for load in loads for part in (load.parts or (load.id,)))
    tightest = max(loads, key=lambda load: len(load.mask.bounds or ()) if load.mask is not None else 0)
    place = replace(choice.place, span=tightest.place.span)
    masked = mask if mask is not None and mask.literal is MISSING else None
    events.loads.append(LoadEvent(place, number, name, address, masked, None, choice.scope, parts=parts))
    read = first.loads | second.loads | {number}
    return Value(axes=axes.broadcast(first.axes, second.axes), origin=Origin("load", number, turned), loads=read)


def join_numbers(events: Events, axes: AxisTable, first: Value, second: Value, choice: Choice) -> Value | None:
    """A number or an address whose parts the test chooses; None for other values, and where more differs."""
    if not (first.affine and second.affine) or first.box is not None or second.box is not None:
        return None
    if len(first.axes) != len(second.axes) or (value := affine(choice.chooser, first, second)) is None:
        return None
    events.chosen.update(dict.fromkeys(symbol for symbol in value.symbols if symbol.chosen))
    element = first.element if first.element == second.element else None
    shape = axes.broadcast(first.axes, second.axes)
    known = value.poly.constant if value.poly is not None and not value.terms and not shape else None
    return replace(value, axes=shape, element=element, literal=MISSING if known is None else known)


def differ(events: Events, joined: Value) -> bool:
    """Whether the loads that one stands for lie in memory in different orders."""
    if joined.origin.load is None:
        return False
    load = events.loads[joined.origin.load]
    return bool(load.parts) and any(symbol.chosen for term in load.address.terms for symbol in term.stride.symbols)


def _turned(load: LoadEvent) -> LoadEvent:
    """A load of two axes as one of the transposed tile."""
    address = load.address
    first, second = address.axes
    swapped = address.moved((second, first), {0: 1, 1: 0})
    mask = load.mask
    if mask is not None and mask.literal is MISSING:
        held = (*(None for _ in range(2 - len(mask.axes))), *mask.axes)
        mask = mask.moved((held[1], held[0]), {0: 1, 1: 0})
    return replace(load, address=swapped, mask=mask, checked=tuple(sorted(1 - axis for axis in load.checked)))


def _one_address(axes: AxisTable, first: LoadEvent, second: LoadEvent, choice: Choice) -> Value | None:
    """The addresses of both, if they are the same but for strides that the test chooses."""
    one, other = first.address, second.address
    if one.poly is None or other.poly is None or not _both_or_none(first, second):
        return None
    roots = [tuple(axis is None for axis in address.axes) for address in (one, other)]
    if roots[0] != roots[1]:
        return None
    if (one.poly, one.terms) == (other.poly, other.terms):
        return one
    return affine(choice.chooser, one, other, alike=True)


def _both_or_none(first: LoadEvent, second: LoadEvent) -> bool:
    """A box says what is checked by itself: it is no arm of a masked load."""
    if first.box is None or second.box is None:
        return first.box is second.box
    kinds = [(box.descriptor, box.nan) for box in (first.box, second.box)]
    return kinds[0] == kinds[1] and first.checked == second.checked
