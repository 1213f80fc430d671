"""Parameters that must agree with others: a number of chunks with the length and the chunk, a chunk with its tiles.

Real launches compute them; a launch that does not lets programs overlap or leaves tiles out. They show in how the
kernel counts: a loop over `NT` chunks of `BT` rows needs `NT = cdiv(T, BT)`; `(p % NC) * BC + (p // NC) * BT` covers
every row once where `BT = NC * BC`; an index that is divided by `HV // H` needs `HV` to be some times `H`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from ...facts import Dimension, Facts
from ...poly import ONE, ZERO, Poly, Symbol
from ..grids import chunks, own_extent
from .extents import Extents
from .indices import batch_index
from .integers import integers, symbols_in


def relations(facts: Facts, extents: Extents, tiles: set[str], given: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Expressions for parameters that follow from others, and from sizes that no parameter holds.

    `tiles` are lengths of axes: they follow from nothing. `given` is what the launching function computes.
    """
    found: dict[str, str] = {}
    sources = (
        _picked(facts),
        _radices(facts, tiles),
        _loops(facts, extents),
        # Before what strides and the grid make likely: a ratio of nothing is no launch at all.
        _ratios(facts, dict(given)),
        _ladders(facts, extents),
        _chunked(facts),
    )
    for name, expression in (pair for source in sources for pair in source):
        if name not in tiles:
            found.setdefault(name, expression)
    return found


def solved(given: Iterable[tuple[str, str]], tiles: set[str], driven: set[str]) -> Iterator[tuple[str, str]]:
    """What the launching function computes, with quotients that are tiles solved for another name of theirs.

    Of `G = HQ // H`, where `G` is the length of a tile, follows how many `HQ` there are: tiles are chosen first. If the
    tiles say how many `HQ` there are (they are `driven`), it says how many `H` there are.
    """
    for name, text in given:
        whole, part = _quotient(text)
        if name not in tiles or whole is None or part is None:
            yield name, text
        elif whole in driven:
            yield part, f"{whole} // {name}"
        else:
            yield whole, f"{name} * {part}"


def _name(poly: Poly) -> str | None:
    """The parameter that a polynomial is."""
    symbol = poly.alone
    return symbol.name if symbol is not None and symbol.name.isidentifier() else None


def _radices(facts: Facts, tiles: set[str]) -> Iterator[tuple[str, str]]:
    for _, access in facts.accesses:
        for d in access.dimensions:
            steps = dict(_steps(d.coordinate))
            if len(steps) < len([*_steps(d.coordinate)]):
                continue  # a row of elements, through which one index moves in two ways
            for low, step in steps.items():
                if low.template != "({} % {})" or (count := _name(low.operands[1])) is None:
                    continue
                high = next((s for s in steps if s.template == "({} // {})" and s.operands == low.operands), None)
                for other in [high] if high is not None else [s for s in steps if s != low]:
                    whole = _name(steps[other])
                    if whole is not None and whole not in tiles:
                        yield whole, f"{count} * {_text(step)}"
                    elif whole is not None and steps[other] != step:
                        yield count, f"cdiv({steps[other].text()}, {step.text()})"


def _loops(facts: Facts, extents: Extents) -> Iterator[tuple[str, str]]:
    for loop in facts.loops:
        if loop.start is None or loop.stop is None or loop.step not in (ONE, -ONE):
            continue
        way = loop.stop - loop.start
        count = _name(way if loop.step == ONE else -way)
        if count is None:
            continue
        for _, access in facts.accesses:
            for d in access.dimensions:
                if d.axis is None or d.axis not in extents.of or d.extent is None:
                    continue
                step = next((_size(p) for s, p in _steps(d.coordinate) if s == loop.trip), None)
                if step is not None and _name(step) != count:
                    yield count, f"cdiv({own_extent(d, extents.of)}, {step.text()})"


def _picked(facts: Facts) -> Iterator[tuple[str, str]]:
    """There are as many programs along an axis of the grid as elements of what their number picks one of."""
    for d in _bounded(facts):
        if (index := batch_index(d.coordinate)) is not None and index.free is not None and d.extent is not None:
            yield index.free, d.extent.text()


def _bounded(facts: Facts) -> Iterator[Dimension]:
    """Dimensions of which an access has one position, and whose extent is told: by the shape of a descriptor, say."""
    for _, access in facts.accesses:
        for d in access.dimensions:
            if d.axis is None and d.extent is not None and d.extent.launch and "tl." not in d.extent.text():
                yield d


def _ladders(facts: Facts, extents: Extents) -> Iterator[tuple[str, str]]:
    """What a stride is longer by than the next one says how many there are of what the next one picks."""
    counts = chunks(facts, extents.of)
    told = {_name(d.extent) for d in _bounded(facts) if d.extent is not None}
    for _, access in facts.accesses:
        for d in access.dimensions:
            if d.axis is not None or d.coordinate not in counts or not d.stride.monomial:
                continue
            for other in access.dimensions:
                ratio, rest = other.stride.divide(d.stride)
                name = _name(ratio) if rest == ZERO else None
                if name is not None and name not in told and name not in counts[d.coordinate]:
                    yield name, counts[d.coordinate]


def _ratios(facts: Facts, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Query heads per key head, tiles per split: `p // (HV // H)` needs a whole ratio, and not none.

    The launching function may have divided: `G = HQ // H`, and `p // G` here.
    """
    for poly in integers(facts):
        for symbol in symbols_in(poly):
            if symbol.template not in ("({} // {})", "({} % {})"):
                continue
            for divisor in symbol.operands[1].symbols:
                if divisor.template == "({} // {})" and divisor.launch:
                    whole, part = (_name(operand) for operand in divisor.operands)
                else:
                    whole, part = _quotient(given.get(divisor.name, ""))
                if whole is not None and part is not None:
                    yield whole, f"ratio_{whole} * {part}"


def _chunked(facts: Facts) -> Iterator[tuple[str, str]]:
    """A chunk that a loop walks in tiles, `i * BT + j * BC` with tiles of `BC`, is some tiles long."""
    trips = {loop.trip for loop in facts.loops}
    for _, access in facts.accesses:
        for d in access.dimensions:
            part = _name(facts.axis(d.axis).length) if d.axis is not None else None
            steps = [(_name(_size(step)), moved) for moved, step in _steps(d.coordinate)]
            if part is None or not any(name == part and moved in trips for name, moved in steps):
                continue
            yield from ((name, f"ratio_{name} * {part}") for name, _ in steps if name is not None and name != part)


def _quotient(text: str) -> tuple[str | None, str | None]:
    """The names that an expression divides."""
    match ast.parse(text or "0", mode="eval").body:
        case ast.BinOp(left=ast.Name(id=whole), op=ast.FloorDiv(), right=ast.Name(id=part)):
            return whole, part
    return None, None


def _steps(coordinate: Poly) -> Iterator[tuple[Symbol, Poly]]:
    """What moves in a coordinate, with how far it moves it."""
    for monomial, coefficient in coordinate.terms:
        moving = [s for s in monomial if not s.launch]
        if len(moving) == 1:
            yield moving[0], Poly.build([(tuple(s for s in monomial if s.launch), coefficient)])


def _size(poly: Poly) -> Poly:
    return -poly if poly.terms and poly.terms[0][1] < 0 else poly


def _text(poly: Poly) -> str:
    return poly.text() if poly.monomial else f"({poly.text()})"
