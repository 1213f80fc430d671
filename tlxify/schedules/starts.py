"""Where tiles start along the axes that may be the contiguous one.

The TMA starts a box at whole 16 bytes along the contiguous axis: anything else ends in an illegal instruction (measured
on an H200; extents and the other coordinates may be any number). A source's pointers start anywhere, at the first row
of a sequence for one. So a view's coordinates are taken apart: what is a multiple of a tile's length is a multiple of
16 elements; of what is not, the launch must confirm that it is, or that the axis is not the contiguous one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..diagnostics import Decline
from ..facts import Dimension, Facts
from ..plan import Starts, View
from ..poly import Poly, Symbol
from ..source import Span
from ..starts import tile_lengths, uneven
from .writing import write_for_guard


def starts_of(facts: Facts, loads: Sequence[tuple[Span, View]]) -> tuple[Starts, ...]:
    """What the starts of all tiles are multiples of, where that is not known to be enough.

    `loads` are those that go through descriptors, each with its view.

    Raises Decline TLX212 if the TMA cannot read a tile whichever axis is contiguous.
    """
    accesses = [facts.access(load) for load, _ in loads]
    lengths = tile_lengths(facts, (access for access in accesses if access is not None))
    found: dict[tuple[str, int], dict[str, None]] = {}
    for load, view in loads:
        access = facts.access(load)
        if access is None or access.described:
            continue  # the source reads it by the TMA itself
        axes = (-1,) if view.flag is None else (-2, -1)
        steps = {axis: tuple(_steps(access.dimensions[axis], lengths)) for axis in axes}
        if all("1" in texts for texts in steps.values()):
            coordinate = access.dimensions[-1].coordinate
            raise Decline("TLX212", load, name=access.pointer, what=coordinate.text())
        for axis, texts in steps.items():
            found.setdefault((view.descriptor, axis), {}).update(dict.fromkeys(texts))
    return tuple(Starts(view, axis, tuple(texts)) for (view, axis), texts in found.items() if texts)


def _steps(dimension: Dimension, lengths: frozenset[Symbol]) -> Iterator[str]:
    """What the coordinate is a sum of multiples of, in elements, without what is a multiple of 16 anyway."""
    for monomial, coefficient in uneven(dimension.coordinate, lengths):
        known = tuple(symbol for symbol in monomial if write_for_guard(Poly.of(symbol)) is not None)
        yield write_for_guard(Poly.build([(known, abs(coefficient))])) or "1"
