"""The integers that a kernel counts and indexes with."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts import Facts
from ...poly import Poly, Symbol


def integers(facts: Facts) -> Iterator[Poly]:
    """Every integer that says where memory is, how often something is done or which way the kernel goes."""
    for _, access in facts.accesses:
        for d in access.dimensions:
            yield from (p for p in (d.stride, d.coordinate, d.extent, d.limit) if p is not None)
    for loop in facts.loops:
        yield from (p for p in (loop.start, loop.stop, loop.step) if p is not None)
    yield from (load.offset for load in facts.loads if load.offset is not None)
    yield from (scalar for symbol, scalar in facts.thresholds if not drawn(symbol))
    for comparison in facts.comparisons:
        if comparison.integers:
            yield from (comparison.left, comparison.right)


def drawn(symbol: Symbol) -> bool:
    """Whether it stands for random floats: what they are compared with is no integer either."""
    return symbol.name.startswith(("tl.rand(", "tl.randn("))


def symbols_in(poly: Poly) -> Iterator[Symbol]:
    """The symbols of a polynomial and of what they are made of, the outer ones first."""
    for symbol in poly.symbols:
        yield symbol
        for operand in symbol.operands:
            yield from symbols_in(operand)
