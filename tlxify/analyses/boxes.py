"""Boxes: block pointers and tensor descriptors, whose shape, strides and offsets the source states itself.

A box reaches the same form as pointer arithmetic, and more surely: nothing has to be guessed from an address. What its
base adds to the pointer parameter is shared out like any scalar part of an address.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ..diagnostics import Decline
from ..facts import Access, AxisId, Dimension
from ..poly import ONE, ZERO, Poly, Symbol
from ..source import Span
from .axes import Axes
from .batches import batches
from .values import Bound, Term, Value


@dataclass(frozen=True, slots=True)
class Box:
    """A block of a strided tensor in memory: one entry per axis in each tuple."""

    #: Address of the tensor's first element, scalar.
    base: Poly
    shape: tuple[Poly, ...]
    strides: tuple[Poly, ...]
    #: Where the block begins.
    offsets: tuple[Poly, ...]
    axes: Axes
    #: A tensor descriptor's, not a block pointer's.
    descriptor: bool
    #: Out-of-bounds elements read as NaN instead of zero.
    nan: bool = False

    def at(self, offsets: tuple[Poly, ...]) -> Box:
        """The block that begins there."""
        return replace(self, offsets=offsets)

    @property
    def address(self) -> Value:
        """Addresses of the block's elements."""
        start = self.base
        for offset, stride in zip(self.offsets, self.strides, strict=True):
            start += offset * stride
        places = zip(reversed(self.axes), reversed(self.strides), strict=True)
        terms = tuple(Term(dim, stride) for dim, (axis, stride) in enumerate(places) if axis is not None)
        return Value(axes=self.axes, poly=start, terms=terms)

    def mask(self, checked: Collection[int]) -> Value | None:
        """What a check of some axes (from the first) lets through."""
        if not checked:
            return None
        last = len(self.axes) - 1
        along = [i for i in checked if self.axes[i] is not None]
        bounds = tuple(Bound(last - i, self.offsets[i] - self.shape[i]) for i in along)
        return Value(axes=self.axes, bounds=bounds)


def describe_box(
    box: Box, checked: Collection[int], span: Span, pointer: str | None, tiles: frozenset[Symbol], called: str
) -> Access:
    """The tile that a block is. Raises Decline TLX201, TLX207 where its base or its strides are not understood."""
    # Where a branch chose the base, `pointer` is a mere guess: the base is then a symbol of its own.
    start = next((symbol for symbol in box.base.symbols if symbol.name == pointer), None)
    if pointer is None or start is None:
        raise Decline("TLX201", span, name=called, why="it has no single base pointer")
    rest = box.base - Poly.of(start)
    rest, batch = batches(rest, tiles)
    for stride in box.strides:
        if not stride.launch or not stride.monomial:
            raise Decline("TLX207", span, what="stride", name=pointer, why=f"it is `{stride}`")
    dimensions: dict[int, Dimension] = {}
    for i in sorted(range(len(box.axes)), key=lambda i: box.strides[i].constant is not None):
        shift, rest = rest.divide(box.strides[i])
        if (segment := _segment(box, i, shift)) is not None:
            batch.append(segment)
            shift = ZERO
        dimensions[i] = _dimension(box, i, shift, box.axes[i], checked=i in checked)
    if rest != ZERO and sum(axis is not None for axis in box.axes) == 1 and not rest.launch:
        batch.append(Dimension(ONE, rest, None, None))
        rest = ZERO
    if rest != ZERO:
        raise Decline("TLX201", span, name=pointer, why=f"`{rest}` elements are added that belong to no axis")
    alone = [dimensions[i] for i, axis in enumerate(box.axes) if axis is None]
    tile = [dimensions[i] for i, axis in enumerate(box.axes) if axis is not None]
    return Access(pointer, (*batch, *alone, *tile), described=box.descriptor)


def _segment(box: Box, i: int, shift: Poly) -> Dimension | None:
    """What its base is shifted by along an axis, if those are whole tensors: tensors that lie side by side."""
    shape = box.shape[i]
    if shift == ZERO or not shape.launch or not shape.monomial:
        return None
    number, rest = shift.divide(shape)
    return Dimension(box.strides[i] * shape, number, None, None) if rest == ZERO else None


def _dimension(box: Box, i: int, shift: Poly, axis: AxisId | None, *, checked: bool) -> Dimension:
    """One dimension; what its base is shifted by shifts its end as well."""
    coordinate = box.offsets[i] + shift
    end = box.shape[i] + shift
    if not checked:
        return Dimension(box.strides[i], coordinate, axis, None, stated=end if end.launch else None)
    whole = shift == ZERO
    if end.launch:
        return Dimension(box.strides[i], coordinate, axis, end, from_zero=whole)
    return Dimension(box.strides[i], coordinate, axis, None, limit=end, from_zero=whole)
