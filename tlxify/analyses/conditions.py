"""Comparisons of scalars, and which are of integers, so that the opposite one says exactly the opposite.

`not a < b` is `a >= b` for numbers, but not for NaN. A scalar is an integer where Triton takes nothing else: in an
address, a bound of a position or a loop, a floor division; so is a program id, and what is compared with one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..facts import Comparison
from ..poly import Poly, Symbol
from .events import Events, LoadEvent, StoreEvent
from .spreads import SIGNS

#: Pure functions of integers alone, by how they are written.
_INTEGER_ONLY = ("({} // {})", "({} & {})", "({} | {})", "({} ^ {})", "({} << {})", "({} >> {})", "cdiv({}, {})")
_PROGRAM = ("tl.program_id(", "tl.num_programs(")


def comparisons(events: Events) -> tuple[Comparison, ...]:
    """The comparisons of two scalars."""
    counted = frozenset(_counted(events))

    def integer(poly: Poly) -> bool:
        return all(counts(symbol) for symbol in poly.symbols)

    def counts(symbol: Symbol) -> bool:
        if symbol in counted or symbol.trip or symbol.constexpr or symbol.name.startswith(_PROGRAM):
            return True
        if symbol.template in _INTEGER_ONLY:
            return True
        return bool(symbol.operands) and symbol.template == "({} % {})" and all(map(integer, symbol.operands))

    found = []
    for span, (node, left, right) in events.comparisons.items():
        if left.poly is None or right.poly is None:
            continue
        sides = integer(left.poly), integer(right.poly)
        asks = [whole and _asks_which(side) for whole, side in zip(sides, (left.poly, right.poly), strict=True)]
        text, operator = ast.unparse(node), SIGNS[type(node.ops[0])]
        found.append(Comparison(span, text, operator, left.poly, right.poly, all(sides) or any(asks)))
    return tuple(found)


def _counted(events: Events) -> Iterable[Symbol]:
    for loop in events.loops:
        for bound in (loop.start, loop.stop, loop.step):
            yield from bound.symbols if bound is not None else ()
    touched: list[LoadEvent | StoreEvent] = [*events.loads, *events.stores]
    for event in touched:
        yield from event.address.symbols
        yield from event.mask.symbols if event.mask is not None and event.mask.bounds is not None else ()


def _asks_which(poly: Poly) -> bool:
    """Whether a program id is in it."""
    return any(
        symbol.name.startswith("tl.program_id(") or any(map(_asks_which, symbol.operands)) for symbol in poly.symbols
    )
