"""What the first coordinates of tiles are multiples of: the TMA asks for 16 bytes along the contiguous axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .facts import Access, Facts
from .poly import Monomial, Poly, Symbol

#: Elements of one byte in what the TMA starts at multiples of: larger elements need fewer.
UNIT = 16


def tile_lengths(facts: Facts, accesses: Iterable[Access]) -> frozenset[Symbol]:
    """Constexprs that are the length of a tile that a dot reads: powers of two, 16 or more."""
    axes = {d.axis for access in accesses for d in access.dimensions if d.axis is not None}
    lengths = (facts.axis(axis).length for axis in axes)
    return frozenset(symbol for length in lengths if length.monomial for symbol in length.symbols if symbol.constexpr)


def uneven(coordinate: Poly, lengths: frozenset[Symbol]) -> Iterator[tuple[Monomial, int]]:
    """The terms of a coordinate that may be no multiple of `UNIT`."""
    for monomial, coefficient in coordinate.terms:
        if coefficient % UNIT != 0 and not any(_even(symbol, lengths) for symbol in monomial):
            yield monomial, coefficient


def _even(symbol: Symbol, lengths: frozenset[Symbol]) -> bool:
    """Whether it is a multiple of `UNIT`, whatever it is."""
    if symbol in lengths:
        return True
    chosen = symbol.options or (symbol.operands if symbol.template.partition("(")[0] in ("min", "max") else ())
    return bool(chosen) and not any(term for operand in chosen for term in uneven(operand, lengths))
