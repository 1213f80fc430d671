"""How far apart programs begin that store several tiles one behind the other: no closer than what each of them stores.

A kernel that stores rows `pid * BT` to `pid * BT + 32` in two tiles of 16 is launched with a BT of 32: with less, its
programs would overwrite each other's rows. Where programs of another axis store those tiles, `pid * BT + other * BC`,
there are as many of them as fit: `BT // BC`.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from ...facts import Dimension, Facts
from ...poly import Monomial, Poly, Symbol
from .indices import program_axis


@dataclass(slots=True)
class Apart:
    """What stores say of the distances between programs."""

    #: Distances, parameters all, each with what it is a multiple of.
    multiples: list[tuple[str, str]] = field(default_factory=list)
    #: Axes of the grid whose programs share out such a distance, each with how many there are.
    programs: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Tile:
    """Where a stored tile begins: `apart * program + tiles * length + rest`, or with `axis` in the place of `tiles`."""

    apart: str
    program: Symbol
    length: Poly
    tiles: int
    rest: int
    axis: int | None


def apart(facts: Facts, sizes: Container[str]) -> Apart:
    """The distances between programs that store several tiles, as far as they are sizes."""
    stored = {store.span for store in facts.stores if store.kind == "store"}
    accesses = [access for span, access in facts.accesses if span in stored]
    tiles = [tile for access in accesses for d in access.dimensions if (tile := _tile(facts, d)) is not None]
    found = Apart()
    for name, program in dict.fromkeys((tile.apart, tile.program) for tile in tiles):
        mine = [tile for tile in tiles if (tile.apart, tile.program) == (name, program)]
        lengths = {tile.length for tile in mine}
        several = any(tile.tiles or tile.rest or tile.axis is not None for tile in mine)
        if name not in sizes or len(lengths) > 1 or not several:
            continue  # one tile for each program, or tiles of which it is not known how they compare
        (length,) = lengths
        rows = Poly.of(max(tile.tiles for tile in mine) + 1) * length + Poly.of(max(tile.rest for tile in mine))
        found.multiples.append((name, rows.text()))
        axes = {tile.axis for tile in mine}
        if len(axes) == 1 and (axis := axes.pop()) is not None:
            found.programs[axis] = f"{name} // {length.text()}"
    return found


def _tile(facts: Facts, dimension: Dimension) -> _Tile | None:
    """Where a tile begins, if a parameter times what differs between programs is part of that."""
    if dimension.axis is None:
        return None
    length = facts.axis(dimension.axis).length
    if not length.monomial or not length.launch:
        return None
    # Where a sequence begins is the same for all tiles of it.
    terms = [term for term in dimension.coordinate.terms if not _begins(term[0])]
    apart = [(found, term) for term in terms if (found := _apart(term)) and found[0] not in length.symbols]
    if len(apart) != 1:
        return None
    ((size, program), moved) = apart[0]
    inside = Poly.build(term for term in terms if term is not moved)
    quotient, rest = inside.divide(length)
    if length.constant is not None and inside.constant is not None:
        quotient, rest = map(Poly.of, divmod(inside.constant, length.constant))
    axis = program_axis(quotient)
    tiles, over = (0 if axis is not None else quotient.constant), rest.constant
    if tiles is None or over is None or tiles < 0 or over < 0:
        return None
    return _Tile(size.name, program, length, tiles, over, axis)


def _begins(monomial: Monomial) -> bool:
    """Whether it is a number that the kernel has read or chosen, on its own."""
    return len(monomial) == 1 and not (monomial[0].launch or monomial[0].trip or monomial[0].name.startswith("tl."))


def _apart(term: tuple[Monomial, int]) -> tuple[Symbol, Symbol] | None:
    """The parameter, and what it is multiplied with that differs between programs."""
    monomial, factor = term
    sizes = [symbol for symbol in monomial if symbol.launch and symbol.name.isidentifier()]
    programs = [symbol for symbol in monomial if not symbol.launch and not symbol.trip]
    return (sizes[0], programs[0]) if len(monomial) == 2 and factor == len(sizes) == len(programs) == 1 else None
