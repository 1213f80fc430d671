"""PLAN: who does what in the converted kernel, decided before a line is written.

It holds names and short expressions, no syntax. Expressions are Python text over names of the source kernel
(`pid_m * BLOCK_M`) or over its parameters (guard and bytes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .source import Span


@dataclass(frozen=True, slots=True)
class View:
    """A parameter's memory as the tensor that a TMA descriptor describes."""

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
    #: Coordinates of the tile in the view, batch first, as the producer writes them.
    coordinates: tuple[str, ...]
    #: Names of the source kernel that the coordinates read.
    reads: frozenset[str]
    load: Span
    statement: Span


@dataclass(frozen=True, slots=True)
class DotStep:
    """One dot of the loop, fed from the ring."""

    span: Span
    statement: Span
    accumulator: str
    a: str
    b: str
    #: The source transposes the loaded tile on its way to the dot.
    a_transposed: bool
    b_transposed: bool


@dataclass(frozen=True, slots=True)
class Ring:
    """STAGES slots that the producer fills and the consumers empty, once per trip of one loop."""

    loop: Span
    buffers: tuple[Buffer, ...]
    dots: tuple[DotStep, ...]
    #: Barrier arrays: `full` (producer → consumers), `empty` (consumers → producer).
    full: str
    empty: str
    #: Variable and bounds of the loop: text of start and stop, for "not the first trip" and "at least one trip".
    variable: str
    start: str
    stop: str
    #: The loop variable counts trips from 0 and the loop runs once: it is the slot counter itself.
    counted_by_loop: bool
    #: Another round of the ring may follow: the last slot must be released after the loop.
    reused: bool
    #: The loop runs under a condition, and its accumulator goes on where the arms meet again.
    branched: bool

    @property
    def in_flight(self) -> int:
        """Dots that stay unretired when a trip ends."""
        return len(self.dots)


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

    name: Literal["producer", "consumer"]
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


@dataclass(frozen=True, slots=True)
class Stored:
    """Memory the kernel writes, as far as the launch can tell its extent."""

    parameter: str
    #: Extents; None: only the tensor's own storage bounds the axis.
    shape: tuple[str | None, ...]
    strides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaunchGuard:
    """What must hold at a launch for the specialized kernel to run."""

    views: tuple[View, ...]
    #: Operands of one dot share a dtype: groups of pointer parameters.
    same_dtype: tuple[tuple[str, ...], ...]
    dtypes: tuple[str, ...]
    stored: tuple[Stored, ...]
    #: Pointer parameters through which the producer reads scalars: nothing may be stored there.
    scalars: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Persistence:
    """Program ids become a tile loop."""

    #: Axes of the source's grid.
    rank: int
    #: New parameters: extents of the source's grid.
    extents: tuple[str, ...]
    #: New name: the tile index.
    tile: str


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
    ring: Ring
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
    #: Proofs and notes worth a comment in the output: (statement, text).
    notes: tuple[tuple[Span, str], ...] = ()

    def name(self, purpose: str) -> str:
        """The name chosen for a purpose."""
        return dict(self.names)[purpose]

    def task(self, name: str) -> Task:
        """The task of that name."""
        return next(task for task in self.tasks if task.name == name)

    def slot_bytes(self) -> Iterator[tuple[Buffer, str]]:
        """Bytes that one stage takes per buffer, as text over constexprs and `itemsize`."""
        for buffer in self.ring.buffers:
            yield buffer, f"{buffer.tile[0]} * {buffer.tile[1]}"
