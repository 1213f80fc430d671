"""Which sizes count trips of the dot loop, and which are the rows and columns of the result."""

from __future__ import annotations

from collections.abc import Collection

from ...facts import Facts, LoopFact
from ...poly import Poly
from ..grids import own_extent
from .extents import Extents
from .integers import symbols_in

#: (extent, tile) of an axis.
Sized = tuple[str, str]


def roles(facts: Facts, extents: Extents) -> tuple[Sized | None, Sized | None, Sized | None]:
    """(extent, tile) of the rows, the columns and the contracted axis of the first dot.

    Without a dot, of the rows and the columns of the first tile that is stored, or else loaded.
    """
    if not facts.dots:
        tiles = [*(store.axes for store in facts.stores), *(load.axes for load in facts.loads)]
        rows, columns = next((axes for axes in tiles if len(axes) == 2 and None not in axes), (None, None))
        return sized(facts, extents, rows), sized(facts, extents, columns), None
    dot = facts.dots[0]
    return (
        sized(facts, extents, dot.a.axes[0]),
        sized(facts, extents, dot.b.axes[1]),
        sized(facts, extents, dot.a.axes[1]),
    )


def sized(facts: Facts, extents: Extents, axis: int | None) -> Sized | None:
    """(extent, tile) of an axis; None if it has no size of its own, or one tile is all there is."""
    if axis is None or not extents.of.get(axis, "").isidentifier():
        return None  # it follows from others
    length = facts.axis(axis).length.text()
    return (extents.of[axis], length) if extents.of[axis] != length else None


def remaining(facts: Facts, extents: Extents, named: Collection[Sized | None]) -> list[Sized]:
    """Of a kernel without a dot, all other (extent, tile): of vectors, and of further tiles.

    Nothing else says how many programs and trips it takes to see all that the kernel does.
    """
    if facts.dots:
        return []
    known = {pair[0] for pair in named if pair is not None}
    found: dict[str, str] = {}
    for _, access in facts.accesses:
        for dimension in access.dimensions:
            pair = sized(facts, extents, dimension.axis)
            if pair is not None and pair[0] not in known:
                found.setdefault(*pair)
    return list(found.items())


def masked(facts: Facts, size: str) -> bool:
    """Whether all accesses along axes of that size are masked by it: a tile may then be longer than the axis."""
    dimensions = [d for _, access in facts.accesses for d in access.dimensions if d.axis is not None]
    axes = {d.axis for d in dimensions if d.extent is not None and d.extent.text() == size}
    return bool(axes) and all(d.extent is not None for d in dimensions if d.axis in axes)


def covered(facts: Facts, extents: Extents) -> dict[str, str]:
    """Sizes that one tile covers, with the tile: no access to them ever moves (`BK` no less than a head's `K`)."""
    found: dict[str, str] = {}
    moving: set[str] = set()
    for _, access in facts.accesses:
        for d in access.dimensions:
            size = d.extent.text() if d.extent is not None else extents.of.get(d.axis if d.axis is not None else -1, "")
            if d.axis is None or not size.isidentifier():
                continue
            length = facts.axis(d.axis).length
            steps = {other.stride for other in access.dimensions if other is not d}
            if d.coordinate != Poly() or d.stride * length in steps or not length.text().isidentifier():
                moving.add(size)
            found.setdefault(size, length.text())
    return {size: tile for size, tile in found.items() if size not in moving and size != tile}


def walked(facts: Facts, extents: Extents, loop: LoopFact | None) -> Sized | None:
    """(extent, step) of the axis along which the tiles of a loop move with every trip.

    The step is a tile, or as many of them as programs take turns: `BLOCK_K * SPLIT_K`.
    """
    if loop is None or loop.step is None:
        return None
    for _, access in facts.accesses:
        for d in access.dimensions:
            if d.axis not in extents.of or d.axis is None or loop.trip not in d.coordinate.symbols:
                continue
            # Loops over sizes of their own may share what they add to their counters, `tl.arange(0, BLOCK_K)`.
            size = next(filter(str.isidentifier, (own_extent(d, extents.of), extents.of[d.axis])), None)
            if size is None:
                continue
            length = facts.axis(d.axis).length
            steps = d.coordinate - d.coordinate.substitute({loop.trip: Poly()})
            if length.monomial and steps.terms:
                turns, rest = steps.divide(length * Poly.of(loop.trip))
                if not rest.terms and turns.launch and turns.monomial:
                    return size, (length * turns).text()
    return None


def siblings(facts: Facts, extents: Extents, named: Collection[Sized | None]) -> list[Sized]:
    """(extent, step) of the loops around other dots than the first, where they walk along sizes of their own.

    A loop over the rank behind one over the depth: how long the one is says nothing of the other.
    """
    known = {pair[0] for pair in named if pair is not None}
    found: dict[str, str] = {}
    around = {dot.loops[-1] for dot in facts.dots if dot.loops}
    for loop in facts.loops:
        pair = walked(facts, extents, loop) if loop.span in around else None
        if pair is not None and pair[0] not in known and not (loop.stop is not None and loaded(facts, loop.stop)):
            found.setdefault(*pair)
    return list(found.items())


def loaded(facts: Facts, poly: Poly) -> bool:
    """Whether a scalar read from memory is in it."""
    symbols = {load.symbol for load in facts.loads}
    return any(s in symbols or any(loaded(facts, operand) for operand in s.operands) for s in poly.symbols)


def stops_with(loop: LoopFact, size: str) -> bool:
    """Whether a loop's end is made of a size: one that ends with its row of tiles runs whatever the columns."""
    return loop.stop is None or any(symbol.name == size for symbol in symbols_in(loop.stop))
