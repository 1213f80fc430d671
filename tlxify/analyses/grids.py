"""How many programs a kernel needs along a grid axis, from how it takes its program ids apart.

`p % a` with `p // a` tells `a` of one thing from however many of the other there are; a quotient that is the position
of a tile covers an axis, one that picks something out of a batch has a size that no parameter holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..facts import Access, Dimension, Facts
from ..poly import ONE, ZERO, Poly, Symbol

_QUOTIENT, _REST = "({} // {})", "({} % {})"


def programs(facts: Facts, extents: Mapping[int, str], axis: int) -> tuple[str, str | None] | None:
    """(how many programs, the size among that which no parameter holds); None if the ids are not understood."""
    return _Decoding(facts, extents, axis).count(Poly.of(Symbol(f"tl.program_id({axis})")))


def quotients(facts: Facts, extents: Mapping[int, str], index: Poly) -> tuple[str, str | None] | None:
    """(how many values a program id's quotient takes, the size among that which no parameter holds); else None."""
    axis = _divided(index)
    return _Decoding(facts, extents, axis).count(index) if axis is not None else None


def _divided(index: Poly) -> int | None:
    """The axis of the program id that an index is a quotient of."""
    symbol = index.alone
    if symbol is None or symbol.template != _QUOTIENT:
        return None
    inner = symbol.operands[0]
    for axis in range(3):
        if inner == Poly.of(Symbol(f"tl.program_id({axis})")):
            return axis
    return _divided(inner)


def chunks(facts: Facts, extents: Mapping[int, str]) -> dict[Poly, str]:
    """How many values each index takes that counts tiles or chunks along an axis."""
    return _Decoding(facts, extents, 0).tiles


def _free(axis: int) -> str:
    return f"outer_{axis}"


class _Decoding:
    """The uses of one program id."""

    def __init__(self, facts: Facts, extents: Mapping[int, str], axis: int) -> None:
        self.free = _free(axis)
        self.tiles: dict[Poly, str] = {}
        self.picks: set[Poly] = set()
        self.symbols: dict[Symbol, None] = {}
        for _, access in facts.accesses:
            for d in access.dimensions:
                self.symbols.update(dict.fromkeys(_inside(d.coordinate)))
                if d.axis is None:
                    self.picks.add(d.coordinate)
                elif d.axis in extents and (length := facts.axis(d.axis).length).monomial:
                    quotient, rest = d.coordinate.divide(length)
                    if rest == ZERO:
                        self.tiles.setdefault(quotient, f"cdiv({own_extent(d, extents)}, {length.text()})")
        for _, access in facts.accesses:
            for d in access.dimensions:
                if d.axis is not None and d.axis in extents:
                    self._chunks(d.coordinate, own_extent(d, extents))

    def _chunks(self, coordinate: Poly, extent: str) -> None:
        """An axis that is walked in chunks, each in tiles: `i * BT + j * BC` has as many `i` as there are chunks.

        Where the chunk is a multiple of the tile, `i * BC * S + j * BC`, there are `S` of the tiles in it. A row of
        elements in which several things lie inside of each other, `(t * H + h) * D`, tells how many `h` there are by
        the next longer step alone; where none is the next longer, it tells nothing.
        """
        steps = [Poly.build([(tuple(s for s in m if s.launch), c)]) for m, c in coordinate.terms if _moves(m)]
        moved = [s for monomial, _ in coordinate.terms for s in monomial if not s.launch]
        for monomial, coefficient in coordinate.terms:
            moving = [s for s in monomial if not s.launch]
            if any(_differ(s, other) for s in moving for other in moved):
                continue
            step = Poly.build([(tuple(s for s in monomial if s.launch), coefficient)])
            if len(moving) == 1 and coefficient > 0 and step.constant is None and "tl." not in step.text():
                turns = [q for other in steps if other != step for q, rest in [other.divide(step)] if rest == ZERO]
                least = next((q for q in turns if all(other.divide(q)[1] == ZERO for other in turns)), None)
                if turns and least is None:
                    continue
                # As many tiles as cover a size are none where there is nothing to cover: then there is no chunk either.
                by = f"max(1, {step.text()})" if "cdiv(" in step.text() else step.text()
                many = least.text() if least is not None else f"cdiv({extent}, {by})"
                self.tiles.setdefault(Poly.of(moving[0]), many)

    def count(self, index: Poly) -> tuple[str, str | None] | None:
        """How many values an index takes."""
        if (covered := self.tiles.get(index)) is not None:
            return covered, None
        parts = [s for s in self.symbols if s.template in (_QUOTIENT, _REST) and s.operands[0] == index]
        parts = [s for s in parts if s.operands[1].launch and "tl." not in s.operands[1].text()]
        quotients = [s for s in parts if s.template == _QUOTIENT]
        for symbol in quotients:
            if (outer := self.count(Poly.of(symbol))) is not None:
                return f"{_closed(symbol.operands[1])} * {outer[0]}", outer[1]
        if quotients:
            return None
        for symbol in parts:
            return symbol.operands[1].text(), None
        return (self.free, self.free) if index in self.picks else None


def parts_of_turn(access: Access, dimension: Dimension, length: Poly) -> str | None:
    """How many tiles side by side are one turn of a loop whose programs take a tile of it each; None without such.

    Where nothing bounds the axis, what the turns move by looks like a batch of its own: `BK * SPLIT` elements a turn,
    of which each of `SPLIT` programs reads `BK`.
    """
    step = dimension.stride * length
    turns = [
        other.stride.divide(step) for other in access.dimensions if other.axis is None and not other.coordinate.launch
    ]
    parts = {quotient for quotient, rest in turns if rest == ZERO and quotient != ONE}
    return parts.pop().text() if len(parts) == 1 else None


def own_extent(dimension: Dimension, extents: Mapping[int, str]) -> str:
    """Where an axis ends in this access: views of one memory may end differently along one axis of the tile."""
    known = dimension.extent is not None and dimension.extent.launch and "tl." not in dimension.extent.text()
    if dimension.extent is not None and known:
        return dimension.extent.text()
    return extents[dimension.axis] if dimension.axis is not None else "1"


def _differ(one: Symbol, other: Symbol) -> bool:
    """Whether two indices take one number apart in different ways: how many values each takes is not plain then."""
    parts = (_QUOTIENT, _REST)
    pair = one.template in parts and other.template in parts and one.operands == other.operands
    return one != other and not pair and bool(_roots(one) & _roots(other))


def _moves(monomial: tuple[Symbol, ...]) -> bool:
    return any(not s.launch for s in monomial)


def _roots(symbol: Symbol) -> set[Symbol]:
    """What an index is made of in the end."""
    inner = [s for operand in symbol.operands for s in operand.symbols if not s.launch]
    return {root for s in inner for root in _roots(s)} if inner else {symbol}


def _inside(poly: Poly) -> Iterator[Symbol]:
    for symbol in sorted(poly.symbols):
        yield symbol
        for operand in symbol.operands:
            yield from _inside(operand)


def _closed(poly: Poly) -> str:
    plain = poly.constant is not None or (len(poly.terms) == 1 and len(poly.terms[0][0]) == 1)
    return poly.text() if plain else f"({poly.text()})"
