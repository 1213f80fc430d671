"""What the interpreter records on its way through a kernel: every memory access and dot with the values it saw."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..facts import LoopFact
from ..poly import Poly, Symbol
from ..source import Span
from .boxes import Box
from .values import Value


@dataclass(frozen=True, slots=True)
class Place:
    """Where something happens."""

    span: Span
    statement: Span
    loops: tuple[Span, ...]
    #: Run-time branches around it.
    branches: tuple[Span, ...]
    #: Branches around it that are settled when the kernel is compiled.
    arms: tuple[Span, ...]
    #: Helper functions it is inside of.
    helpers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoadEvent:
    """A `tl.load`."""

    place: Place
    id: int
    target: str | None
    address: Value
    mask: Value | None
    other: Value | None
    scope: tuple[tuple[str, Poly], ...]
    #: What stands for a loaded scalar.
    symbol: Symbol | None = None
    #: The block of a block pointer or a descriptor, with the axes (from the first) along which its bounds are checked.
    box: Box | None = None
    checked: tuple[int, ...] = ()
    #: The call, where it goes through a box.
    call: ast.Call | None = None
    #: Loads of one tile in arms that the compilation settles: this one stands for them.
    parts: tuple[int, ...] = ()
    #: The arguments that say what is read, where it goes through pointers.
    arguments: tuple[ast.expr, ast.expr | None] | None = None
    #: It asks for memory as it is at this moment.
    volatile: bool = False
    #: The mask and what is read where it does not hold, as they are written.
    mask_node: ast.expr | None = None
    other_node: ast.expr | None = None
    #: Statements that do no more than give the tile a name, as it is or transposed: `a = tl.trans(a)`.
    carried: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreEvent:
    """A `tl.store` or an atomic."""

    place: Place
    kind: str
    address: Value
    value: Value
    value_span: Span
    mask: Value | None
    #: As of a load.
    box: Box | None = None
    checked: tuple[int, ...] = ()
    call: ast.Call | None = None
    scope: tuple[tuple[str, Poly], ...] = ()


@dataclass(frozen=True, slots=True)
class DotEvent:
    """A `tl.dot`."""

    place: Place
    a: Value
    b: Value
    a_node: ast.expr
    b_node: ast.expr
    accumulator: ast.expr | None
    options: tuple[tuple[str, str], ...]
    #: The dtypes of blocks in scope, by name, as far as the source says them; that of the accumulator under "".
    elements: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class OperationEvent:
    """Something done to every element of a block."""

    name: str
    place: Place
    #: What came of it; of a reduction, what is reduced.
    value: Value


@dataclass(slots=True)
class Events:
    """Everything recorded, in program order."""

    loads: list[LoadEvent] = field(default_factory=list)
    stores: list[StoreEvent] = field(default_factory=list)
    dots: list[DotEvent] = field(default_factory=list)
    loops: list[LoopFact] = field(default_factory=list)
    program_ids: list[tuple[Span, int | None, tuple[str, ...]]] = field(default_factory=list)
    num_programs: list[tuple[Span, int | None, tuple[str, ...]]] = field(default_factory=list)
    returns: list[Place] = field(default_factory=list)
    effects: list[tuple[Place, str]] = field(default_factory=list)
    #: Functions that are applied to every element of a tile of two axes, by name.
    elementwise: list[tuple[Place, str]] = field(default_factory=list)
    #: Operators, functions, casts and reductions of blocks.
    operations: list[OperationEvent] = field(default_factory=list)
    #: Loads whose data something other than a dot (or a transposition on its way there) looks at, with the first place.
    other_uses: dict[int, Span] = field(default_factory=dict)
    #: Branches that ask a block.
    block_tests: set[Span] = field(default_factory=set)
    #: Comparisons of two scalars, with both sides.
    comparisons: dict[Span, tuple[ast.Compare, Value, Value]] = field(default_factory=dict)
    #: dtype arguments: name of a constexpr parameter used as the target of a cast, with the place.
    casts: dict[str, Span] = field(default_factory=dict)
    #: Loaded blocks that are compared with scalars.
    thresholds: dict[tuple[Symbol, Poly], None] = field(default_factory=dict)
    #: Constexpr parameters that decide between values of which no common form is known.
    undecided: dict[str, None] = field(default_factory=dict)
    #: Launch-constants of which a flag chooses one.
    chosen: dict[Symbol, None] = field(default_factory=dict)

    #: Branches whose condition is known, with the arm that is taken (the first: True); None where it is not always.
    settled: dict[Span, bool | None] = field(default_factory=dict)

    def asked(self, branch: Span, arm: bool | None) -> None:
        """Notes which arm of a branch is taken, if that is known."""
        if self.settled.setdefault(branch, arm) is not arm:
            self.settled[branch] = None

    def used(self, value: Value, span: Span) -> Value:
        """`value`, with a note that something other than a dot looks at it there."""
        if value.origin.kind == "load" and value.origin.load is not None:
            self.other_uses.setdefault(value.origin.load, span)
        return value

    def carry(self, value: Value, statement: Span) -> None:
        """Notes that a statement gives a name to a loaded tile, and does nothing else with it."""
        number = value.origin.load if value.origin.kind == "load" else None
        if number is not None and statement not in self.loads[number].carried:
            carried = (*self.loads[number].carried, statement)
            self.loads[number] = replace(self.loads[number], carried=carried)

    def move(self, outside: Callable[[Span], bool], span: Span) -> None:
        """Says of what was noted about places outside of the user's file that it is at `span`."""
        self.other_uses.update((key, span) for key, place in self.other_uses.items() if outside(place))
        self.loops[:] = [replace(fact, span=span) if outside(fact.span) else fact for fact in self.loops]
        self.casts.update((key, span) for key, place in self.casts.items() if outside(place))

    def mark(self) -> tuple[int, ...]:
        """A point to roll back to: a loop body is interpreted twice and recorded once."""
        return tuple(len(item) for item in self._lists())

    def rollback(self, mark: tuple[int, ...]) -> None:
        """Forgets what came after `mark`."""
        for item, length in zip(self._lists(), mark, strict=True):
            del item[length:]

    def _lists(self) -> tuple[list[Any], ...]:
        return (
            self.loads,
            self.stores,
            self.dots,
            self.loops,
            self.program_ids,
            self.num_programs,
            self.returns,
            self.effects,
            self.elementwise,
            self.operations,
        )
