"""PLAN: who does what in the converted kernel, decided before a line is written.

It holds names and short expressions, no syntax. Expressions are Python text over names of the source kernel
(`pid_m * BLOCK_M`) or over its parameters (guard and bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from .contract import LaunchConfig
from .facts import Sum
from .source import Span


@dataclass(frozen=True, slots=True)
class Copied:
    """How the producer's threads copy tiles that no box of the TMA holds."""

    #: The buffer, by which the launch knows the copies.
    name: str
    #: The stride along the axis on which threads copy several elements at once: it must be 1.
    unit: str
    #: Products of what all other steps of the address are made of, and ends of masks along that axis: a factor of each
    #: must be a multiple of 16.
    steps: tuple[tuple[str, ...], ...]
    #: That axis is the first of the tile.
    swapped: bool


@dataclass(frozen=True, slots=True)
class Form:
    """What a schedule may do besides dividing the roles."""

    #: Program ids become a tile loop, where that is possible.
    persistent: bool = True
    #: But not where tiles take unequal numbers of trips: the chip deals those out as programs get done.
    balanced: bool = False
    #: The last dot of a trip is issued in the next one, where its sum is rescaled and that changes no result.
    overlapped: bool = True
    #: Consumer groups take turns on the tensor cores; a kernel where nothing can be gained by it is refused.
    turns: bool = False
    #: Each consumer group has tiles of its own, and takes turns with the others by the tile.
    alternating: bool = False
    #: The producer is one warp, and the consumers are the kernel's own warps; refused where it cannot be.
    lean: bool = False


AUTO = Form(balanced=True)


@dataclass(frozen=True, slots=True)
class View:
    """A parameter's memory as the tensor that a TMA descriptor describes, or as what pointers reach."""

    #: Parameter of the converted kernel, "a_desc".
    descriptor: str
    #: Pointer parameter of the source.
    parameter: str
    #: Extents in elements, outermost first; None: nothing bounds the axis.
    shape: tuple[str | None, ...]
    #: Strides in elements.
    strides: tuple[str, ...]
    #: Constexpr that says the tile is stored transposed; None if the source fixes the order.
    flag: str | None
    #: No TMA: the descriptor is the parameter itself, and shape and strides are not known.
    copied: Copied | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """The tiles of one operand in a ring."""

    #: "a_ring".
    name: str
    view: View
    #: Lengths of the whole tile, rows first: ("BLOCK_M", "BLOCK_K").
    tile: tuple[str, str]
    #: Which of the two is divided between consumer groups.
    split: int | None


@dataclass(frozen=True, slots=True)
class Copy:
    """Where the source says what is copied: the address, and the mask outside of which zeros stand."""

    address: Span
    mask: Span | None


@dataclass(frozen=True, slots=True)
class Fill:
    """One load of the source: the producer fills a buffer's slot in its place, the consumers look at the slot."""

    buffer: str
    load: Span
    statement: Span
    #: Coordinates of the tile in the view, batch first, as the producer writes them.
    coordinates: tuple[str, ...]
    #: Names of the source kernel that the coordinates read.
    reads: frozenset[str]
    #: What the consumers call the slot's tile; None where the load is part of a larger expression.
    name: str | None
    #: Dots read it in place; otherwise it is loaded into registers.
    in_place: bool
    #: What the consumers call its values, which they load into registers as well; "" where dots alone read it.
    values: str = ""
    #: The statement is a branch whose arms load the tile: all of it is replaced.
    whole: bool = False
    #: Lengths of the block in registers where it has axes of one element, which the slot has not; else empty.
    shape: tuple[str, ...] = ()
    #: What the consumers do with the block in registers: they apply the source's mask, with zeros ("zeros") or what the
    #: source says ("other") where it does not hold.
    masked: Literal["", "zeros", "other"] = ""
    #: The producer's threads copy it; there are no coordinates then.
    copy: Copy | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A place where a slot is filled and used: loads in one block of statements, freed in the same block."""

    fills: tuple[Fill, ...]
    #: The statement behind which nothing reads the slot any more.
    release: Span

    @property
    def first(self) -> Span:
        """The statement that acquires the slot."""
        return self.fills[0].statement


@dataclass(frozen=True, slots=True)
class Side:
    """An operand of a dot: a slot of a buffer, or a value in registers."""

    #: Name of the buffer; None: `text` is an expression of the source.
    buffer: str | None
    #: The name of the slot's view, or the expression.
    text: str
    #: The source transposes the loaded tile on its way to the dot.
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class DotStep:
    """One dot that reads its operands where the rings hold them."""

    span: Span
    statement: Span
    sum: Sum
    #: The name that holds the product while the dot is under way.
    result: str
    #: What the product is added to, "" for nothing; where `sum` is RESCALED, what `result` is set to before.
    addend: str
    a: Side
    b: Side
    #: Text of the dtype it is added up in, where async_dot has to be told.
    rounded: str = ""
    #: Stays unretired until the next trip of its loop.
    in_flight: bool = False


@dataclass(frozen=True, slots=True)
class Masked:
    """A masked load that a role keeps as a tile from elsewhere, under the load's own mask."""

    #: The tile, as an expression.
    tile: str
    #: What chooses between the tile and what stands where the mask does not hold, "where".
    function: str
    #: That is what the source says; otherwise zeros.
    other: bool


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """An access through a block pointer or a descriptor that a role keeps, with ordinary pointers.

    tlx and new Tritons have no block pointers; a store through a descriptor may write past the end of a row.

    The texts are expressions over names in scope.
    """

    #: The call, and its statement.
    span: Span
    statement: Span
    #: Positions along each axis: (new name, expression).
    positions: tuple[tuple[str, str], ...]
    pointer: str
    mask: str | None
    other: str | None
    #: The function of the language to call in place of a descriptor's method; empty for a block pointer, which is an
    #: argument of that function already.
    function: str = ""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A loop whose dots stay under way while the next slot is awaited: a trip frees the slot of the trip before."""

    loop: Span
    #: Variable and bounds of the loop: text of start and stop, for "not the first trip" and "at least one trip".
    variable: str
    start: str
    stop: str
    #: The loop variable counts trips from 0 and the loop runs once: it is the slot counter itself.
    counted_by_loop: bool
    #: The loop may run again: the last slot must be released behind it.
    again: bool


@dataclass(frozen=True, slots=True)
class Delayed:
    """A loop whose last dot is issued a trip late, behind the dot that begins the next trip.

    What a trip computes between the two then runs while the tensor cores multiply for the trip before. The first trip
    stands in front of the loop, the last dot behind it.
    """

    loop: Span
    #: Its variable and bounds, as text.
    variable: str
    start: str
    stop: str
    step: str
    #: The dot behind which the late one is issued, and the late one.
    ahead: Span
    late: Span
    #: The statement of the loop's body that looks at the late dot's sum before all others.
    retire: Span
    #: What carries the late dot's first operand into the next trip, and its rows and columns.
    held: str
    shape: tuple[str, str]
    #: Something asks the late dot's tile for its type before the dot.
    asked: bool
    #: Where that operand is fp32 that is cast for the dot: its text, and the dtype it is cast to as the dot is issued.
    narrowed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Turns:
    """Consumer groups take turns: each issues its dots when the one before it has, by hardware barriers."""

    #: New constexpr: the hardware barrier of the first group; those of the others follow.
    barrier: str
    #: Dots in front of which a group waits for its turn. It passes it on behind them, or behind the late dot there.
    dots: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Consumer groups take whole tiles, one after the other: one stores its tile while the next multiplies."""

    #: The statement that holds what is done for a tile, and which of its arms does: a loop over tiles, or a branch in
    #: it. None: the kernel itself, whose program ids have become a tile loop.
    block: tuple[Span, int] | None
    #: New names: index of the group, and the variable that says whose tile comes next.
    group: str
    turn: str
    #: New constexpr: the hardware barrier of the first group's turn to multiply; the others' follow.
    barrier: str
    #: Statements of that block: all dots stand from the first of them to the last.
    first: Span
    last: Span
    #: Those from which to which it stores, where tiles are stored in the order in which they are multiplied.
    stores: tuple[Span, Span] | None
    #: What a group keeps of the block to count the slots of another group's tile.
    counts: frozenset[Span]


@dataclass(frozen=True, slots=True)
class Ring:
    """Slots that the producer fills and the consumers empty, at one or several places of the kernel."""

    buffers: tuple[Buffer, ...]
    sites: tuple[Site, ...]
    #: Slots: the constexpr STAGES, or "1" for tiles that stay while a whole loop reads them.
    depth: str
    #: Barrier arrays: `full` (producer → consumers), `empty` (consumers → producer); None: each slot is filled once.
    full: str
    empty: str | None
    #: Names that the emitted code introduces: the slot, counters of filled and used slots, bytes of a slot.
    slot: str
    filled: str
    used: str
    bytes: str
    in_flight: InFlight | None = None
    #: Of a ring with copies: the loop at the end of whose trips slots of earlier trips are announced, so that several
    #: copies are under way; None: a slot is announced where it is filled.
    lagging: Span | None = None
    #: Counter of announced slots.
    landed: str = ""
    #: The transform reads it and frees its slots, not the consumers.
    transformed: bool = False

    @property
    def copied(self) -> bool:
        """Whether threads of the producer fill it, or a part of it."""
        return any(buffer.view.copied is not None for buffer in self.buffers)

    @property
    def described(self) -> tuple[Buffer, ...]:
        """What the TMA fills."""
        return tuple(buffer for buffer in self.buffers if buffer.view.copied is None)

    @property
    def counters(self) -> tuple[str, str]:
        """What counts filled and used slots."""
        held = self.in_flight
        return (held.variable, held.variable) if held and held.counted_by_loop else (self.filled, self.used)

    @property
    def counted(self) -> bool:
        """Whether the tasks count slots in variables of their own."""
        return self.empty is not None and not (self.in_flight and self.in_flight.counted_by_loop)

    def buffer(self, name: str) -> Buffer:
        """The buffer of that name."""
        return next(buffer for buffer in self.buffers if buffer.name == name)


def fills_of(rings: Iterable[Ring]) -> Iterator[tuple[Ring, Site, Fill]]:
    """Every load that one of the rings takes over."""
    for ring in rings:
        for site in ring.sites:
            for fill in site.fills:
                yield ring, site, fill


@dataclass(frozen=True, slots=True)
class Transform:
    """A second operand that a role of its own computes from the tiles of the rings that are `transformed`.

    It writes the block into slots, which the dot reads in place.
    """

    #: The dot and its statement, and the operand as the source writes it there.
    dot: Span
    statement: Span
    operand: Span
    #: What holds the blocks, "operand_ring", and the names of its barriers and counters.
    name: str
    slots: Ring
    #: Lengths of the block as it lies in a slot; `swapped` where the dot takes its columns for rows.
    tile: tuple[str, str]
    swapped: bool
    #: The view of the dot's first operand, whose dtype the block has.
    like: View
    #: Names that the role asks for their dtype alone, with the descriptor that tells it.
    asked: tuple[tuple[str, str], ...]

    @property
    def slot(self) -> str:
        """The slot in hand."""
        return f"{self.name}[{self.slots.slot}]"


@dataclass(frozen=True, slots=True)
class Barrier:
    """An array of mbarriers, one per slot."""

    name: str
    arrivals: str
    #: Tasks that arrive and that wait.
    arrives: str
    waits: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Task:
    """One role: a group of warps and the statements of the source it keeps."""

    name: Literal["producer", "transform", "consumer", "program"]
    warps: str
    registers: str | None
    replicas: str | None
    keeps: frozenset[Span]


@dataclass(frozen=True, slots=True)
class Edge:
    """A hand-over between tasks."""

    source: str
    target: str
    barrier: str
    what: str


@dataclass(frozen=True, slots=True)
class Creator:
    """A place where the split axis gets its length: rewritten to the rows of one group."""

    kind: Literal["arange", "shape"]
    span: Span


@dataclass(frozen=True, slots=True)
class Split:
    """Rows of the tile divided between consumer groups."""

    #: The constexpr that holds the rows of the whole tile.
    length: str
    #: New constexpr: rows per group.
    rows: str
    #: New name: index of the group.
    group: str
    creators: tuple[Creator, ...]
    #: Where the source reads the length of the divided axis, or promises something about it, with what stands there.
    reads: tuple[tuple[Span, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """Memory the kernel writes, as far as the launch can tell its extent."""

    parameter: str
    #: Extents; None: only the tensor's own storage bounds the axis.
    shape: tuple[str | None, ...]
    strides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operands:
    """What one dot multiplies out of slots: views of one dtype; or what else goes through descriptors."""

    #: Pointer parameters of the source.
    parameters: tuple[str, ...]
    #: Triton's short names.
    dtypes: tuple[str, ...]
    #: Descriptors of views that the dtypes of 8 bits do not allow in both orders: whether the contracted axis is
    #: contiguous where the view is transposed.
    along_depth: tuple[tuple[str, bool], ...] = ()
    #: Whether all have one and the same.
    same: bool = True


@dataclass(frozen=True, slots=True)
class Starts:
    """What the first coordinates of a view's tiles are multiples of along one axis, in elements."""

    descriptor: str
    #: Of the view, from its last: -1 or -2.
    axis: int
    #: Expressions over parameters; each coordinate is a sum of multiples of them and of 16.
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaunchGuard:
    """What must hold at a launch for the specialized kernel to run."""

    views: tuple[View, ...]
    #: The operands of each dot: they share a dtype.
    operands: tuple[Operands, ...]
    stored: tuple[Stored, ...]
    #: Pointer parameters through which the producer reads scalars: nothing may be stored there.
    scalars: tuple[str, ...] = ()
    #: Conditions over parameters, as plain Python, that the conversion relies on.
    claims: tuple[str, ...] = ()
    #: Parameters that are descriptors, with the lengths that their blocks must have.
    blocks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Where tiles start at what is no multiple of 16 elements: such an axis must not be the contiguous one.
    starts: tuple[Starts, ...] = ()


@dataclass(frozen=True, slots=True)
class Persistence:
    """Program ids become a tile loop."""

    #: Axes of the source's grid.
    rank: int
    #: New parameters: extents of the source's grid.
    extents: tuple[str, ...]
    #: New name: the tile index.
    tile: str


@dataclass(frozen=True, slots=True)
class Described:
    """A load of the source that goes through a descriptor instead, where it stands."""

    load: Span
    statement: Span
    view: View
    #: Lengths of the tile, rows first.
    tile: tuple[str, str]
    #: Coordinates of the tile in the view, batch first.
    coordinates: tuple[str, ...]
    #: Names of the source kernel that the coordinates read.
    reads: frozenset[str]
    #: The name the tile is assigned to; None where the load is part of a larger expression.
    name: str | None
    #: The statement is a branch whose arms load the tile: all of it is replaced.
    whole: bool
    #: Lengths of the block where it has axes of one element, which the tile has not; else empty.
    shape: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnTiles:
    """Configs with tiles that the source does not list, to be tuned over beside its own."""

    configs: tuple[LaunchConfig, ...]
    #: Programs along each axis of the source's grid, if it follows the tiles; None: as many as under its own configs.
    programs: tuple[str | None, ...]


def decoded(persistence: Persistence, axis: int) -> str:
    """Program id `axis` of the source, out of the tile index: x runs fastest, as the hardware numbers blocks."""
    before = " * ".join(persistence.extents[:axis])
    text = persistence.tile if not before else f"{persistence.tile} // {before if axis == 1 else f'({before})'}"
    return text if axis == persistence.rank - 1 else f"{text} % {persistence.extents[axis]}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole conversion of one kernel."""

    kernel: str
    #: The source kernel's parameters, in order.
    parameters: tuple[str, ...]
    converted: str
    schedule: str
    target: str
    #: In the order in which the kernel first fills them.
    rings: tuple[Ring, ...]
    #: In source order; a dot that is not among them stays as the source has it.
    dots: tuple[DotStep, ...]
    #: Accesses through block pointers that stay in the consumer.
    written_out: tuple[WrittenOut, ...]
    barriers: tuple[Barrier, ...]
    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    split: Split | None
    persistence: Persistence | None
    guard: LaunchGuard
    #: `tl.program_id` and `tl.num_programs` calls that persistence replaces: span → axis.
    program_ids: tuple[tuple[Span, int], ...]
    num_programs: tuple[tuple[Span, int], ...]
    #: Comparisons that may be turned round: the opposite one says exactly the opposite.
    reversible: tuple[Span, ...]
    #: Names that the emitted code introduces, by purpose: "slot", "filled", "used", "stages" …
    names: tuple[tuple[str, str], ...]
    #: Rows and columns of the dots' results.
    products: tuple[tuple[str, str], ...] = ()
    #: Registers must hold more than the accumulators: one is one of two values where arms meet again, or a tile of
    #: memory is combined with it.
    crowded: bool = False
    #: Loops whose counter has another name here.
    counters: tuple[tuple[Span, str], ...] = ()
    #: Branches of which one arm is all there is, in the launches that the guard lets through: whether it is the first.
    settled: tuple[tuple[Span, bool], ...] = ()
    #: Proofs and notes worth a comment in the output: (statement, text).
    notes: tuple[tuple[Span, str], ...] = ()
    own: OwnTiles | None = None
    #: For plain Triton without roles: the loads that go through descriptors. Then there is one task, and no ring.
    described: tuple[Described, ...] = ()
    #: Loops whose last dot is issued a trip late.
    delayed: tuple[Delayed, ...] = ()
    turns: Turns | None = None
    alternation: Alternation | None = None
    transform: Transform | None = None

    @property
    def plain(self) -> bool:
        """Whether the converted kernel is plain Triton: descriptors, but no roles."""
        return bool(self.described)

    @property
    def group(self) -> str | None:
        """The name of the consumer group's index; None where there is one group."""
        return self.split.group if self.split else self.alternation.group if self.alternation else None

    @property
    def lean(self) -> bool:
        """Whether the consumers are the kernel's own warps, and the producer is a warp besides."""
        return any(task.name == "producer" and task.registers is not None for task in self.tasks)

    def name(self, purpose: str) -> str:
        """The name chosen for a purpose."""
        return dict(self.names)[purpose]

    def task(self, name: str) -> Task:
        """The task of that name."""
        return next(task for task in self.tasks if task.name == name)

    def step(self, dot: Span) -> DotStep:
        """The dot at that place."""
        return next(step for step in self.dots if step.span == dot)

    def buffers(self) -> Iterator[tuple[Ring, Buffer]]:
        """Every buffer with its ring."""
        for ring in self.rings:
            for buffer in ring.buffers:
                yield ring, buffer

    def fills(self) -> Iterator[tuple[Ring, Site, Fill]]:
        """Every load that a ring takes over."""
        return fills_of(self.rings)
