"""What the mean program of a launch does: products, loaded bytes, and everything that is computed between them.

Elements are counted, not instructions: `a * b + c` is two where the chip needs one, and both are added to what special
functions take, as if a warp did one after the other. Measured attention bears that out: for 64 heads of 4096 rows and
64 columns it counts 534 µs of softmax against 348 of the tensor cores, and the conversion took 696; for 128 columns 557
against 696, and it took 986 (attention/forward of benchmarks/results/corpus-h200.json): half the products, but not half
the time. Both took longer than what is counted, for the two hide each other only in part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..bench.itemsize import itemsize
from ..bench.sizes import Sizes
from ..bench.work import deals, product_of, trips_of, value_of
from ..facts import AxisId, Dot, Facts, Load, LoopFact, Operand, Operation, every
from ..limit import Effort, Product, Trip
from ..poly import Symbol
from ..source import Span
from .chip import Chip

#: Functions for which an SM has its special units: a quotient is a product with a reciprocal.
SPECIAL = frozenset("exp exp2 log log2 sin cos tanh sqrt rsqrt sqrt_rn sigmoid softmax erf pow / fdiv div_rn".split())


class NotTold(Exception):
    """Something that is to be counted is not said by a launch; the text says what."""


@dataclass(frozen=True)
class Program:
    """One kernel under one launch. `where` names a line of the analysed text as the user knows it."""

    facts: Facts
    sizes: Sizes
    chip: Chip
    where: Callable[[Span], str]

    @cached_property
    def hot(self) -> Span | None:
        """The innermost loop around dots in which the tensor cores work longest; None where no dot is in a loop."""
        cycles: dict[Span, float] = {}
        for dot in self.facts.dots:
            if dot.loops:
                product = self._product(dot, None)
                cycles[dot.loops[-1]] = cycles.get(dot.loops[-1], 0.0) + product.cycles
        return max(cycles, key=lambda span: cycles[span], default=None)

    @property
    def trip(self) -> Trip:
        """What is done in one trip of that loop. Raises NotTold."""
        self._either()
        if self.hot is None:
            return Trip(None, 1.0, self.whole, self.whole)
        around = next(dot.loops for dot in self.facts.dots if dot.loops[-1:] == (self.hot,))
        where, branches = self.where(self.hot), self._taken(self.hot)
        return Trip(where, self._times(around, None), self._effort(self.hot), self.whole, branches)

    @cached_property
    def whole(self) -> Effort:
        """What is done from the beginning to the end. Raises NotTold."""
        return self._effort(None)

    @property
    def dealt(self) -> float | None:
        """Tiles that the mean program takes of those that programs deal out among themselves; None: they do not."""
        loops = [self._loop(span) for dot in self.facts.dots for span in dot.loops]
        dealing = next((loop for loop in loops if deals(loop)), None)
        return None if dealing is None else self._trips(dealing.span)

    def _taken(self, hot: Span) -> tuple[str, ...]:
        """Places of branches that a launch and the program's id do not decide, around what is done in a loop."""
        done: list[Load | Operation | Dot] = [*self._loads(), *self.facts.operations, *self.facts.dots]
        branches = {branch for each in done if hot in each.loops for branch in each.branches}
        return tuple(dict.fromkeys(self.where(branch) for branch in sorted(branches) if not self._decided(branch)))

    def _decided(self, branch: Span) -> bool:
        """Whether comparisons of what is known when a program begins decide a branch: what lies in its grid."""
        statement = next((one for one in every(self.facts.statements) if one.span == branch), None)
        arms = (*statement.body, *statement.orelse) if statement is not None else ()
        asked = [
            comparison
            for comparison in self.facts.comparisons
            if branch.contains(comparison.span) and not any(part.span.contains(comparison.span) for part in arms)
        ]
        sides = [side for comparison in asked for side in (comparison.left, comparison.right)]
        return bool(asked) and all(_told(symbol) for side in sides for symbol in side.symbols)

    def _effort(self, within: Span | None) -> Effort:
        """What is done in one trip of a loop, or by the program."""
        ordinary = special = 0.0
        for operation in self.facts.operations:
            if within is None or within in operation.loops:
                count = self._elements(operation.axes) * self._times(operation.loops, within)
                special += count if operation.name in SPECIAL else 0.0
                ordinary += 0.0 if operation.name in SPECIAL else count
        dots = [dot for dot in self.facts.dots if within is None or within in dot.loops]
        loads = [load for load in self._loads() if within is None or within in load.loops]
        moved = sum(self._bytes(load) * self._times(load.loops, within) for load in loads)
        return Effort(tuple(self._product(dot, within) for dot in dots), moved, ordinary, special)

    def _product(self, dot: Dot, within: Span | None) -> Product:
        try:
            rows, depth, columns = product_of(dot, self.facts, self.sizes)
        except KeyError as error:
            raise NotTold(f"how large the tiles of the dot in {self.where(dot.span)} are: {error.args[0]}") from error
        dtype = self._dtype(dot)
        return Product(rows, depth, columns, dtype, self._times(dot.loops, within), self.chip.tensor(dtype))

    def _dtype(self, dot: Dot) -> str:
        """The element type of a dot's operands: that of one that is multiplied as it was loaded, for both have one."""
        for side in (dot.a, dot.b):
            if side.how is not Operand.COMPUTED and (found := self._loaded(side.load)) is not None:
                return found
        if any(side.narrowed is not None for side in (dot.a, dot.b)):
            return "fp16"
        every_one = filter(None, map(self._loaded, sorted(dot.a.loads | dot.b.loads)))
        known = [dtype for dtype in every_one if dtype == "i8" or not dtype.startswith(("i", "u"))]
        if not known:
            raise NotTold(f"which element type the operands of the dot in {self.where(dot.span)} have")
        return max(known, key=itemsize)

    def _loaded(self, number: int | None) -> str | None:
        pointer = next((load.pointer for load in self.facts.loads if load.id == number), None)
        return None if pointer is None else self.sizes.dtype_of(pointer)

    def _loads(self) -> Iterator[Load]:
        """Loads of blocks; one that stands for several arms, not each of them."""
        parts = {part for load in self.facts.loads for part in load.parts}
        return (load for load in self.facts.loads if load.axes and load.id not in parts)

    def _bytes(self, load: Load) -> float:
        dtype = self._loaded(load.id)
        if dtype is None:
            raise NotTold(f"which tensor the load in {self.where(load.span)} reads")
        return self._elements(load.axes) * itemsize(dtype)

    def _elements(self, axes: Sequence[AxisId | None]) -> float:
        try:
            return math.prod(value_of(self.facts.axis(axis).length, self.sizes) for axis in axes if axis is not None)
        except KeyError as error:
            raise NotTold(f"how long an axis is that `{error.args[0]}` sets") from error

    def _times(self, loops: Sequence[Span], within: Span | None) -> float:
        """How often what stands in these loops is done in the program, or in one trip of the loop `within`."""
        inner = loops if within is None else loops[loops.index(within) + 1 :]
        return math.prod(self._trips(span) for span in inner)

    def _trips(self, span: Span) -> float:
        loop = self._loop(span)
        try:
            return trips_of(loop, self.sizes)
        except (KeyError, ValueError, ZeroDivisionError) as error:
            start, stop, _ = loop.text
            bounds = "" if loop.kind == "while" else f", from `{start}` to `{stop}`"
            raise NotTold(f"how many trips the loop in {self.where(span)} makes{bounds}") from error

    def _loop(self, span: Span) -> LoopFact:
        return next(loop for loop in self.facts.loops if loop.span == span)

    def _either(self) -> None:
        """Raises NotTold where both arms of a branch have dots: a launch does not say how often each is taken."""
        for statement in every(self.facts.statements):
            arms = [
                any(part.span.contains(dot.statement) for part in arm for dot in self.facts.dots)
                for arm in (statement.body, statement.orelse)
            ]
            if statement.kind == "branch" and all(arms):
                raise NotTold(
                    f"which of the dots in the two arms of the branch in {self.where(statement.span)} is made"
                )


def _told(symbol: Symbol) -> bool:
    """Whether a scalar is known when a program begins."""
    if symbol.launch or symbol.name.startswith("tl.program_id"):
        return True
    return bool(symbol.operands) and all(_told(inner) for operand in symbol.operands for inner in operand.symbols)
