"""FACTS: what the analyses may conclude about a kernel. One frozen class per fact; no syntax, only spans and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from .diagnostics import Diagnostic
from .poly import Poly, Symbol
from .source import Span

#: An axis of a block value. Axes that a broadcast, a dot or a store ties together share a number.
AxisId = int


@dataclass(frozen=True, slots=True)
class Creator:
    """Where an axis gets its length: `tl.arange(0, BLOCK_M)`, or one entry of a shape, `tl.zeros((BLOCK_M, …))`.

    A "block" is an entry of the block shape of a block pointer or a descriptor.
    """

    kind: Literal["arange", "shape", "block"]
    #: The arange call, or the entry of the shape.
    span: Span
    #: The statement that holds it.
    statement: Span


@dataclass(frozen=True, slots=True)
class LengthRead:
    """Where the source asks how long an axis is, or promises something about as many positions: `acc.shape[0]`."""

    span: Span
    #: What has to stand there where rows are divided: `{length}` is that of the whole axis, `{rows}` that of a group.
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with everything that matters for splitting it over consumer groups."""

    id: AxisId
    #: Length, e.g. BLOCK_M.
    length: Poly
    creators: tuple[Creator, ...]
    contracted: bool = False
    reduced: bool = False
    #: Seen by something that is not known to treat its positions alike and alone (reshape, unknown call …).
    opaque: bool = False
    #: One value has this axis twice.
    doubled: bool = False
    #: Made in a place that cannot be rewritten (a helper, a block shape): its rows cannot be divided.
    fixed: bool = False
    #: The box of a descriptor has it: its rows can be divided where no access through the descriptor is left.
    boxed: bool = False
    reads: tuple[LengthRead, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that is settled when the kernel is compiled (`EVEN_K`), and how it turns out."""

    value: Poly
    holds: bool


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a memory access: `stride × (coordinate + position along the axis)`.

    With a divisor, the sum is divided by it first, rounded down: extent and limit bound it before that.
    """

    stride: Poly
    #: First coordinate of the tile, scalar.
    coordinate: Poly
    #: None: the access has one position here (a batch index).
    axis: AxisId | None
    #: Exclusive bound of coordinate + position: a mask or a wrap proves it; None if nothing bounds it.
    extent: Poly | None
    #: The source wraps coordinates at the extent (`% M`) instead of masking them.
    wrapped: bool = False
    #: It reads element 0 past the extent, instead of beginning anew there.
    folded: bool = False
    #: What wraps around reaches results that are kept. Where the extent is a multiple of the tile, whole tiles wrap, to
    #: the coordinate modulo the extent; a launch must confirm that it is.
    whole: bool = False
    divisor: Poly | None = None
    #: Exclusive bound of coordinate + position that the launch does not tell: a length read from memory, the end of a
    #: group. It holds besides `extent`; no descriptor can express it.
    limit: Poly | None = None
    #: What lies past the limit reaches only masked-out results: it may be read. Without an extent the descriptor then
    #: ends where the parameter's memory does, not where the source's masks do.
    harmless: bool = False
    #: Where the source says that the tensor ends, though this access does not ask: it relies on staying inside.
    stated: Poly | None = None
    #: What lies before 0 reads as zero in the source too: a checked block pointer, a descriptor.
    from_zero: bool = False
    #: The source does not mask by the extent where all conditions of one of these hold: it relies on the extent being a
    #: multiple of the tile. A descriptor masks anyway, so the launch must confirm it (`schedules.writing.claims`).
    waived: tuple[tuple[Condition, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store reduced to a strided tile of the memory behind one parameter."""

    pointer: str
    #: Batch dimensions first, then the block's axes in the value's order.
    dimensions: tuple[Dimension, ...]
    #: The source accesses it through a descriptor: by the TMA, too.
    described: bool = False
    #: The mask holds more than the bounds of the dimensions: a lower bound, a condition that is loaded or causal.
    partial: bool = False
    #: Positions in the value's order along which rows lie wherever an index says that memory holds: no box has them.
    #: What the index steps by is among the dimensions, as a batch whose coordinate stands for a block.
    gathered: frozenset[int] = frozenset()
    #: The one axis along which the elements of gathered rows lie together.
    row: AxisId | None = None
    #: Positions along which the mask holds more than bounds.
    patchy: frozenset[int] = frozenset()

    @property
    def dynamic(self) -> bool:
        """Masked by more than the launch tells: a masked load of the source can do it, a descriptor cannot."""
        return self.partial or any(d.limit is not None and not d.harmless for d in self.dimensions)

    @property
    def unboxed(self) -> bool:
        """No descriptor has such a box: threads may copy it."""
        return bool(self.gathered) or self.dynamic or any(d.divisor is not None for d in self.dimensions)


@dataclass(frozen=True, slots=True)
class LoadText:
    """The arguments of a `tl.load` that say what is read."""

    address: Span
    mask: Span | None
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Load:
    """A `tl.load`, of a block or (without axes) of a scalar."""

    id: int
    span: Span
    statement: Span
    #: The name it is assigned to; None when it is nested in a larger expression.
    target: str | None
    pointer: str | None
    loops: tuple[Span, ...]
    #: Run-time branches, branches settled when the kernel is compiled, and helper functions it sits in.
    branches: tuple[Span, ...]
    arms: tuple[Span, ...]
    helpers: tuple[str, ...]
    axes: tuple[AxisId | None, ...]
    #: Scalars in scope at the load, oldest first: what emitted coordinates may be written with.
    scope: tuple[tuple[str, Poly], ...]
    #: Where something besides a dot looks at the loaded data.
    other_use: Span | None = None
    #: Loads that its address or mask depends on.
    depends_on: frozenset[int] = frozenset()
    #: Its address or mask depends on the result of a dot.
    after_dot: bool = False
    #: Names that its statement reads outside of the load itself.
    beside: frozenset[str] = frozenset()
    #: Names that its mask is written with, and what is read where that does not hold; None for a load without a mask.
    mask_reads: frozenset[str] | None = None
    #: Where the mask does not hold it reads something else than zeros.
    filled: bool = False
    #: It goes through a block pointer, which newer Tritons and tlx do not have: it cannot stay as it is.
    block_pointer: bool = False
    #: It goes through a descriptor that the kernel makes.
    descriptor: bool = False
    #: For a scalar: elements from the beginning of the parameter's memory, and what stands for the value.
    offset: Poly | None = None
    #: What its mask says the offset stays below, if the launch tells that.
    offset_end: Poly | None = None
    symbol: Symbol | None = None
    #: Where its address and its mask are written, and the names they read.
    written: LoadText | None = None
    #: Loads of one tile in the arms of a branch that the compilation settles, or of a conditional expression. This one
    #: stands for all of them: `statement` is the branch (all of it is replaced where a ring takes the load over),
    #: `span` the arm that masks most, `scope` holds before the branch, the access masks what any arm masks. The parts
    #: are listed as loads of their own too: they vanish with the branch, or stay with it where no ring takes it over.
    parts: tuple[int, ...] = ()
    #: Statements that do no more than give the tile a name, as it is or transposed.
    carried: tuple[Span, ...] = ()

    @property
    def is_tile(self) -> bool:
        """Whether it loads more than a row or a column: what a slot is for."""
        return sum(axis is not None for axis in self.axes) > 1


@dataclass(frozen=True, slots=True)
class RowBound:
    """`position along axis + index < 0`: one conjunct of a mask."""

    axis: AxisId
    index: Poly


@dataclass(frozen=True, slots=True)
class Store:
    """A `tl.store` or an atomic."""

    span: Span
    statement: Span
    kind: str
    pointer: str | None
    loops: tuple[Span, ...]
    branches: tuple[Span, ...]
    helpers: tuple[str, ...]
    axes: tuple[AxisId | None, ...]
    value: Span
    #: The upper bounds its mask consists of.
    bounds: tuple[RowBound, ...] = ()
    #: As of a load.
    block_pointer: bool = False
    descriptor: bool = False
    #: The dtype of what is stored by Triton's name ("int32"), where the source says it.
    element: str | None = None


@dataclass(frozen=True, slots=True)
class BlockAxis:
    """One axis of what a block pointer points to."""

    offset: Poly
    stride: Poly
    #: Exclusive bound that the access checks; None: it does not.
    extent: Poly | None
    #: None: one element.
    axis: AxisId | None


@dataclass(frozen=True, slots=True)
class BlockAccess:
    """An access through a block pointer or a descriptor, with what is needed to write it with ordinary pointers."""

    #: The call, and the argument that is the block pointer, or what the descriptor's method is called of.
    span: Span
    pointer: Span
    statement: Span
    loads: bool
    #: Address of the tensor's first element.
    base: Poly
    axes: tuple[BlockAxis, ...]
    #: What is outside reads as zero.
    zeros: bool
    scope: tuple[tuple[str, Poly], ...]
    #: Names that its statement reads outside of the block pointer.
    beside: frozenset[str]
    #: Of a descriptor: the function that does the same with pointers ("load", "store", "atomic_add" …); else empty.
    method: str = ""


class Operand(Enum):
    """How an operand reaches the dot."""

    DIRECT = "direct"
    TRANSPOSED = "transposed"
    COMPUTED = "computed"


@dataclass(frozen=True, slots=True)
class DotOperand:
    """One side of a dot."""

    how: Operand
    span: Span
    text: str
    #: The load it comes from, when direct or transposed.
    load: int | None
    axes: tuple[AxisId | None, ...]
    #: Every load its data depends on.
    loads: frozenset[int] = frozenset()
    #: Its data depends on the result of another dot.
    after_dot: bool = False
    #: Names that the expression reads.
    reads: frozenset[str] = frozenset()
    #: Those of them that it asks for their dtype alone: `w.to(x.dtype)`.
    asks: frozenset[str] = frozenset()
    #: Of a value that is surely fp32 and is cast for the dot: its text and that of the dtype.
    narrowed: tuple[str, str] | None = None


class Sum(Enum):
    """What a statement does with the dot in it."""

    #: `acc = tl.dot(a, b, acc)`, `acc += tl.dot(a, b)`, `acc = acc + tl.dot(a, b)`.
    ADDED = "added"
    #: `acc = acc * scale + tl.dot(a, b)`, where the loop carries `acc`: it has the dtype and the shape of the sum.
    RESCALED = "rescaled"
    #: `qk = tl.dot(q, k)`.
    ALONE = "alone"
    #: Anything else: the dot is part of a larger expression.
    WITHIN = "within"


@dataclass(frozen=True, slots=True)
class Dot:
    """A `tl.dot`."""

    span: Span
    statement: Span
    loops: tuple[Span, ...]
    branches: tuple[Span, ...]
    arms: tuple[Span, ...]
    helpers: tuple[str, ...]
    a: DotOperand
    b: DotOperand
    accumulator: str | None
    #: Keyword arguments of the source that still mean something for a tensor-core dot: (name, text).
    options: tuple[tuple[str, str], ...] = ()
    sum: Sum = Sum.WITHIN
    #: The name its statement binds: the accumulator where there is one.
    result: str | None = None
    #: For RESCALED, the text of what the dot is added to; names its statement reads outside of the dot's operands.
    addend: str = ""
    beside: frozenset[str] = frozenset()
    #: Operand dtypes (Triton's short names) for which the tensor cores add up in the sum as the statement says.
    dtypes: tuple[str, ...] = ()
    #: Text of the dtype the product is added up in, where async_dot has to be told.
    rounded: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something done to every element of a block of data: an operator, a function, a cast, a reduction.

    What only says where memory lies or where a tile ends is none, and neither is a sum that a dot adds up in.
    """

    #: The operator's sign, or the function's name ("exp2", "max").
    name: str
    statement: Span
    loops: tuple[Span, ...]
    branches: tuple[Span, ...]
    arms: tuple[Span, ...]
    #: Of its result, or of what it reduces.
    axes: tuple[AxisId | None, ...]


@dataclass(frozen=True, slots=True)
class LoopFact:
    """A counted loop."""

    span: Span
    kind: Literal["range", "static_range", "while"]
    variable: str | None
    start: Poly | None
    stop: Poly | None
    step: Poly | None
    #: The symbol that counts its finished trips.
    trip: Symbol
    #: Source text of start, stop and step.
    text: tuple[str, str, str] = ("0", "", "1")

    @property
    def count(self) -> Symbol | None:
        """What counts the trips of a loop that begins at zero, such as `cdiv(K, BLOCK_K)`; None where no one does."""
        if self.start != Poly() or self.stop is None or self.step is None or not self.step.monomial:
            return None
        count, rest = self.stop.divide(self.step)
        return count.alone if rest == Poly() else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two scalars."""

    span: Span
    text: str
    #: `<`, `>=`, `!=` …
    operator: str
    left: Poly
    right: Poly
    #: Certainly of integers: the opposite one says exactly the opposite (no NaN).
    integers: bool


@dataclass(frozen=True, slots=True)
class StatementFact:
    """A statement with the names it reads and binds itself; those of its body are in `body` and `orelse`."""

    span: Span
    kind: Literal["simple", "loop", "branch"]
    binds: frozenset[str]
    reads: frozenset[str]
    body: tuple[StatementFact, ...] = ()
    orelse: tuple[StatementFact, ...] = ()
    #: What a simple statement is: "docstring", "assign", "store", "static_assert" …
    text_kind: str = ""
    #: Names among `reads` that a simple statement asks for their dtype alone: `w = w.to(x.dtype)`.
    asks: frozenset[str] = frozenset()


def every(statements: Iterable[StatementFact]) -> Iterator[StatementFact]:
    """Statements with those of their bodies, in source order, bodies after their heads."""
    for statement in statements:
        yield statement
        yield from every((*statement.body, *statement.orelse))


@dataclass(frozen=True, slots=True)
class HostDescriptor:
    """A parameter that is a tensor descriptor, made by the caller."""

    name: str
    #: The axes of its blocks, from the first; None: of length one.
    axes: tuple[AxisId | None, ...]
    #: Nothing but loads and its element type are asked of it.
    read: bool


@dataclass(frozen=True, slots=True)
class Tiling:
    """Tiles of the result whose lengths the tuner alone sets, and on which no element of the result depends."""

    #: The constexprs that are the rows and the columns of a tile.
    rows: str
    columns: str
    #: Programs along each axis of the grid, over parameters and `cdiv`; None: the tiles do not decide.
    grid: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the analyses found out about one kernel."""

    kernel: str
    axes: tuple[Axis, ...]
    loops: tuple[LoopFact, ...]
    loads: tuple[Load, ...]
    stores: tuple[Store, ...]
    dots: tuple[Dot, ...]
    #: Accesses that are strided tiles, by the span of their load or store.
    accesses: tuple[tuple[Span, Access], ...]
    #: `tl.program_id` calls: span, axis (None if it is no literal), helpers around it.
    program_ids: tuple[tuple[Span, int | None, tuple[str, ...]], ...] = ()
    num_programs: tuple[tuple[Span, int | None, tuple[str, ...]], ...] = ()
    #: Returns inside loops. All others end an arm that nothing follows.
    returns: tuple[Span, ...] = ()
    statements: tuple[StatementFact, ...] = ()
    #: Source text of the conditions of branches, by the span of the branch.
    conditions: tuple[tuple[Span, str], ...] = ()
    #: Branches whose condition is a block, not one value for the whole program.
    block_tests: tuple[Span, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    #: Statements whose effect no role can reproduce (device prints, inline assembly …), with what they are.
    effects: tuple[tuple[Span, str], ...] = ()
    #: Functions applied to every element of a tile of two axes ("exp", "where"), with their statements.
    elementwise: tuple[tuple[Span, str], ...] = ()
    #: What is done to the elements of blocks besides loading, multiplying and storing them.
    operations: tuple[Operation, ...] = ()
    #: Why a load or store is not a strided tile, by its span.
    problems: tuple[tuple[Span, Diagnostic], ...] = ()
    #: Constexpr parameters that name the target dtype of a cast.
    casts: tuple[str, ...] = ()
    #: Names that may hold integers of 64 bits.
    wide: frozenset[str] = frozenset()
    #: Accesses through block pointers.
    blocks: tuple[BlockAccess, ...] = ()
    #: Parameters that were taken to have these values: everything here holds for such launches alone.
    assumed: tuple[tuple[str, object], ...] = ()
    #: Branches that these values settle, and whether the first arm is taken: `statements` holds what is in that arm.
    settled: tuple[tuple[Span, bool], ...] = ()
    #: Strides by which a tile moves along an axis that lies at stride 1: more is known of launches where they are 1.
    units: tuple[str, ...] = ()
    #: Parameters that are descriptors.
    hosted: tuple[HostDescriptor, ...] = ()
    #: Loaded blocks that are compared with scalars: what stands for the block, and the scalar.
    thresholds: tuple[tuple[Symbol, Poly], ...] = ()
    #: Constexpr parameters that choose between values without a common form: more may be known once they are assumed.
    undecided: tuple[str, ...] = ()

    @property
    def armed(self) -> tuple[Load, ...]:
        """Loads that stand for several arms (see `Load.parts`)."""
        return tuple(load for load in self.loads if load.parts)

    def statement(self, span: Span) -> StatementFact:
        """The statement at that place."""
        return next(statement for statement in every(self.statements) if statement.span == span)

    def access(self, span: Span) -> Access | None:
        """The strided tile behind a load or store."""
        return next((access for where, access in self.accesses if where == span), None)

    def problem(self, span: Span) -> Diagnostic | None:
        """Why the load or store there is not a strided tile."""
        return next((diagnostic for where, diagnostic in self.problems if where == span), None)

    def problems_at(self, span: Span) -> tuple[Diagnostic, ...]:
        """Everything that keeps the load or store there from being a strided tile."""
        return tuple(diagnostic for where, diagnostic in self.problems if where == span)

    def axis(self, number: AxisId) -> Axis:
        """The axis of that number."""
        return next(axis for axis in self.axes if axis.id == number)
