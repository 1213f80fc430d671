"""What one launch has to do at least: floating-point operations and bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..contract import Contract, evaluate
from ..facts import Dot, Facts, LoopFact
from ..poly import Poly, Symbol
from .itemsize import itemsize
from .sizes import Sizes

#: Pure functions of scalars that a loop bound may be written with.
_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "cdiv({}, {})": lambda a, b: math.ceil(a / b),
    "({} // {})": lambda a, b: a // b,
    "({} % {})": lambda a, b: a % b,
    "min({}, {})": min,
    "max({}, {})": max,
}


@dataclass(frozen=True, slots=True)
class Work:
    """The least that a launch does."""

    #: Of its dots, two for each product that reaches a result; None where the trips of a loop cannot be told.
    flops: float | None
    #: Every tensor once: those that are read, and those that are written.
    bytes: float
    #: Element type of the dot's operands, which sets the rate; empty without a dot.
    dtype: str


def work_of(contract: Contract, facts: Facts, sizes: Sizes) -> Work:
    """The work of a launch.

    Loops whose bounds depend on the program id are counted for the mean program, which is exact for linear bounds
    (causal attention). Parts of tiles that lie outside of the tensors do not count.
    """
    moved = 0.0
    for tensor in sizes.tensors:
        times = int(tensor.spec.reads) + int(tensor.spec.writes)
        moved += times * math.prod(tensor.shape) * itemsize(tensor.dtype)
    dtype = next(filter(None, map(sizes.dtype_of, _operands(facts))), "")
    try:
        flops = math.prod(sizes.grid) * sum(_per_program(dot, contract, facts, sizes) for dot in facts.dots)
    except (KeyError, ValueError, ZeroDivisionError):
        return Work(None, moved, dtype)
    return Work(flops * _useful(contract, sizes), moved, dtype)


def _operands(facts: Facts) -> Iterator[str]:
    """The tensors that dots multiply."""
    pointers = {load.id: load.pointer for load in facts.loads}
    for dot in facts.dots:
        for side in (dot.a, dot.b):
            for number in sorted(side.loads):
                if (pointer := pointers.get(number)) is not None:
                    yield pointer


def _per_program(dot: Dot, contract: Contract, facts: Facts, sizes: Sizes) -> float:
    """Operations of a dot in the mean program."""
    total = 2.0 * math.prod(product_of(dot, facts, sizes))
    for span in dot.loops:
        loop = next(loop for loop in facts.loops if loop.span == span)
        try:
            total *= trips_of(loop, sizes)
        except KeyError:
            if contract.contracted is None or len(dot.loops) > 1:
                raise
            size, tile = contract.contracted
            total *= math.ceil(evaluate(size, sizes.known) / evaluate(tile, sizes.known))
    return total


def product_of(dot: Dot, facts: Facts, sizes: Sizes) -> tuple[float, float, float]:
    """Rows, depth and columns of one product, in elements. Raises KeyError where the launch does not tell."""
    lengths = {axis.id: axis.length for axis in facts.axes}
    rows, depth, columns = (
        value_of(lengths[axis], sizes) if axis is not None else 0.0 for axis in (*dot.a.axes, dot.b.axes[-1])
    )
    if not rows * depth * columns:
        raise KeyError("an axis of a dot without a length")
    return rows, depth, columns


def deals(loop: LoopFact) -> bool:
    """Whether programs deal the trips of a loop out among themselves."""
    return loop.step is not None and any(symbol.name.startswith("tl.num_programs") for symbol in loop.step.symbols)


def trips_of(loop: LoopFact, sizes: Sizes) -> float:
    """Trips of a loop in the mean program. Raises KeyError where the launch does not tell."""
    if loop.start is None or loop.stop is None or loop.step is None:
        raise KeyError("the bounds of a loop")
    if deals(loop):
        # Programs deal things out among themselves: from the first program on, all of them.
        sizes = replace(sizes, known={**sizes.known, **{f"tl.program_id({axis})": 0 for axis in range(3)}})
        return max(0.0, (value_of(loop.stop, sizes) - value_of(loop.start, sizes)) / value_of(loop.step, sizes))
    trips = (value_of(loop.stop, sizes) - value_of(loop.start, sizes)) / value_of(loop.step, sizes)
    bounds = loop.start.symbols | loop.stop.symbols
    varies = any("tl.program_id" in symbol.name for symbol in bounds)
    return max(0.0, trips if varies else math.ceil(trips))


def _useful(contract: Contract, sizes: Sizes) -> float:
    """The share of the tiles that lies inside of the tensors."""
    share = 1.0
    for size, tile in contract.counted:
        length, extent = sizes.known.get(size), sizes.known.get(tile)
        if isinstance(length, int) and isinstance(extent, int) and length > 0 and extent > 0:
            share *= length / (math.ceil(length / extent) * extent)
    return share


def value_of(poly: Poly, sizes: Sizes) -> float:
    """The value of a scalar in the mean program. Raises KeyError where the launch does not tell."""
    return sum(coefficient * math.prod(_symbol(s, sizes) for s in monomial) for monomial, coefficient in poly.terms)


def _symbol(symbol: Symbol, sizes: Sizes) -> float:
    value = sizes.known.get(symbol.name)
    if isinstance(value, int | float):
        return float(value)
    for axis, extent in enumerate((*sizes.grid, 1, 1)[:3]):
        if symbol.name == f"tl.program_id({axis})":
            return (extent - 1) / 2
        if symbol.name == f"tl.num_programs({axis})":
            return float(extent)
    if symbol.template in _FUNCTIONS:
        return float(_FUNCTIONS[symbol.template](*(value_of(operand, sizes) for operand in symbol.operands)))
    raise KeyError(symbol.name)
