"""What one CTA did, as a graph: the acts of its tasks, what its asynchronous units did, and what waited for what.

The graph has no times. Those come from a cost model (``timeline``), so the picture of a right kernel does not depend on
the schedule that was simulated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import triton.language as tl

from .barriers import MBarrier, NamedBarrier
from .findings import Finding
from .observer import Observer, Target
from .scheduler import Agent, Operation, Queue
from .shadow import Runs
from .shared import View
from .sites import NOWHERE, Site, here
from .storage import Storage

#: the unit that runs an operation, by its kind; what is not here gets a unit of its own
UNITS = {"TMA load": "TMA", "TMA store": "TMA", "async_dot": "Tensor cores", "cp.async": "Copies (cp.async)"}

#: builtins that compute nothing: they make or rename values, or are acts of their own
_FREE = frozenset(
    """arange full zeros zeros_like reshape view trans permute expand_dims broadcast broadcast_to splat cast to_tensor
    join split load store local_load local_store async_dot async_dot_wait async_load local_view local_slice local_trans
    multiple_of max_contiguous max_constancy assume static_print static_assert program_id num_programs""".split()
)
#: builtins of the special function unit
_SPECIAL = frozenset("exp exp2 log log2 sin cos sqrt rsqrt sqrt_rn erf fdiv div_rn __truediv__ __rtruediv__".split())


@dataclass(frozen=True, slots=True)
class Work:
    """What an act costs, in units of a cost model."""

    #: bytes between global and shared memory or registers
    nbytes: int = 0
    #: bytes between shared memory and registers
    shared: int = 0
    #: floating-point operations of the tensor cores, and the width of their operands in bits
    flop: float = 0.0
    bits: int = 16
    #: elements computed by ordinary arithmetic, and by the special function unit
    elements: int = 0
    special: int = 0

    def __bool__(self) -> bool:
        return bool(self.nbytes or self.shared or self.flop or self.elements or self.special)


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the picture: a task or an asynchronous unit."""

    name: str
    #: 0 for a unit
    warps: int = 0
    #: where the task starts
    site: Site = NOWHERE


@dataclass(frozen=True, slots=True)
class Act:
    """Something that takes time, or hands something over."""

    lane: int
    #: "TMA load", "async_dot" and so on, "compute", "wait", "arrive", "issue", "stuck"
    kind: str
    label: str
    site: Site
    work: Work
    #: acts that must have ended; that of the same lane before it is understood for tasks
    causes: tuple[int, ...] = ()
    #: of an operation: the lane of the task that issued it
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding, at the act during which it was noticed."""

    act: int
    finding: Finding


@dataclass(frozen=True, slots=True)
class Trace:
    """What one CTA did."""

    program: tuple[int, int, int]
    lanes: tuple[Lane, ...]
    #: every act comes after its causes
    acts: tuple[Act, ...]
    marks: tuple[Mark, ...]
    #: whether acts were left out because there were too many
    truncated: bool = False


@dataclass(slots=True)
class _Draft:
    """A trace being written."""

    program: tuple[int, int, int]
    lanes: list[Lane] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    #: who has which lane: tasks, and names of units
    rows: dict[Any, int] = field(default_factory=dict)
    operations: dict[Operation, int] = field(default_factory=dict)
    #: (barrier, phase or flip) → acts that counted for it
    counted: dict[tuple[Any, int], list[int]] = field(default_factory=dict)
    #: queue → (group, act) of the operations that its task has not waited for
    queued: dict[Queue, list[tuple[int, int]]] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)


class Tracer(Observer):
    """Writes the traces of the CTAs of a run.

    Args:
        programs: how many CTAs are traced, the first ones.
        limit: acts per CTA; later ones are left out.
    """

    def __init__(self, programs: int = 1, limit: int = 20_000) -> None:
        self.programs = programs
        self.limit = limit
        self.traces: list[Trace] = []
        self._draft: _Draft | None = None
        self._who: Agent | Operation | None = None
        self._work = Work()
        self._site = NOWHERE
        self._views: list[View] = []

    # the course of the run -------------------------------------------------------------------------------------------

    def program(self, index: tuple[int, int, int]) -> None:
        """A new trace, if it is one of those wanted."""
        self._draft = _Draft(index) if len(self.traces) < self.programs else None
        self._who = None
        self._work = Work()

    def chosen(self, who: Agent | Operation) -> None:
        """Another runner goes on."""
        if who is not self._who:
            self._flush()
        self._who = who

    def spawned(self, agent: Agent) -> None:
        """A lane; the task starts after what its parent did so far."""
        if self._draft is None:
            return
        self._flush()
        parent = self._lane()
        lane = self._draft.rows[agent] = len(self._draft.lanes)
        site = self._who.waiting.site if isinstance(self._who, Agent) and self._who.waiting else NOWHERE
        self._draft.lanes.append(Lane(agent.name, agent.warps, site))
        if parent is not None and parent in self._draft.last:
            self._draft.last[lane] = self._draft.last[parent]

    def ended(self, agent: Agent) -> None:
        """Writes down what it did last."""
        self._flush()

    def stuck(self, agents: list[Agent]) -> None:
        """Waits without end."""
        for agent in agents:
            if agent.waiting is not None and self._draft is not None:
                self._who = agent
                self._act("stuck", agent.waiting.reason, agent.waiting.site)

    def finished(self) -> None:
        """Closes the trace."""
        self._flush()
        draft, self._draft = self._draft, None
        if draft is not None:
            cut = len(draft.acts) >= self.limit
            trace = Trace(draft.program, tuple(draft.lanes), tuple(draft.acts), tuple(draft.marks), cut)
            self.traces.append(trace)

    # acts ------------------------------------------------------------------------------------------------------------

    def _lane(self) -> int | None:
        if self._draft is None or not isinstance(self._who, Agent):
            return None
        return self._draft.rows.get(self._who)

    def _act(self, kind: str, label: str, site: Site, causes: tuple[int, ...] = (), work: Work = Work()) -> int | None:
        """An act of the current task, after the arithmetic it did before."""
        if kind != "compute":
            self._flush()
        draft, lane = self._draft, self._lane()
        if draft is None or lane is None or len(draft.acts) >= self.limit:
            return None
        before = draft.last.get(lane)
        after = causes if before is None else (before, *causes)
        draft.acts.append(Act(lane, kind, label, site, work, after))
        draft.last[lane] = len(draft.acts) - 1
        return len(draft.acts) - 1

    def _flush(self) -> None:
        work, self._work = self._work, Work()
        if work and isinstance(self._who, Agent):
            self._act("compute", _describe(work), self._site, work=work)

    def started(self, operation: Operation) -> None:
        """The issue by the task, and what the unit does."""
        draft, views = self._draft, self._views
        self._views = []
        label = " × ".join(view.label for view in views) or operation.kind
        issue = self._act("issue", f"issue {operation.kind} of {label}", operation.site)
        if draft is None or issue is None:
            return
        unit = UNITS.get(operation.kind, operation.kind)
        if unit not in draft.rows:
            draft.rows[unit] = len(draft.lanes)
            draft.lanes.append(Lane(unit))
        bits = 8 * views[-1].array.itemsize if views else 16
        work = Work(flop=operation.flop, bits=bits) if operation.flop else Work(sum(view.nbytes for view in views))
        owner = draft.acts[issue].lane
        draft.operations[operation] = len(draft.acts)
        if operation.queue is not None:
            draft.queued.setdefault(operation.queue, []).append((operation.group, len(draft.acts)))
        draft.acts.append(Act(draft.rows[unit], operation.kind, label, operation.site, work, (issue,), owner))

    def accessed(self, storage: Storage, runs: Runs, write: bool, view: View, kind: str, asynchronous: bool) -> None:
        """Bytes between shared memory and registers, or those of the operation about to be started."""
        if asynchronous:
            self._views.append(view)
        else:
            self._did(Work(shared=view.nbytes))

    def touched(self, first: int, last: int, write: bool, nbytes: int) -> None:
        """A task's own access to global memory."""
        if isinstance(self._who, Agent):
            self._did(Work(nbytes=nbytes))

    def computed(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """Arithmetic on blocks."""
        if self._draft is None or name in _FREE or not isinstance(result, tl.tensor):
            return
        block = args[0] if name == "reduce" and args and isinstance(args[0], tl.tensor) else result
        if not block.type.is_block():
            return
        count = 1
        for extent in block.shape:
            count *= int(extent)
        if name == "dot":
            self._did(Work(flop=2.0 * count * int(args[0].shape[-1]), bits=args[0].dtype.primitive_bitwidth))
        else:
            self._did(Work(special=count) if name in _SPECIAL else Work(elements=count))

    def _did(self, more: Work) -> None:
        if not self._work:
            self._site = here()
        was = self._work
        self._work = Work(
            was.nbytes + more.nbytes,
            was.shared + more.shared,
            was.flop + more.flop,
            more.bits if more.flop else was.bits,
            was.elements + more.elements,
            was.special + more.special,
        )

    # hand-overs ------------------------------------------------------------------------------------------------------

    def contributed(self, bar: MBarrier, phase: int, clean: bool) -> None:
        """An arrival of a task, or bytes that have landed."""
        self._count(bar, phase, f"arrive on {bar.name}")

    def took_part(self, bar: NamedBarrier, flip: int) -> None:
        """An arrival at a named barrier."""
        self._count(bar, flip, f"arrive on named barrier {bar.id}")

    def _count(self, bar: Any, phase: int, label: str) -> None:
        draft, who = self._draft, self._who
        if draft is None:
            return
        act = draft.operations.get(who) if isinstance(who, Operation) else self._act("arrive", label, here())
        if act is not None:
            draft.counted.setdefault((bar, phase), []).append(act)

    def waited(self, agent: Agent, on: Target, reason: str, site: Site) -> None:
        """The end of a wait, and what ended it."""
        if self._draft is not None:
            self._act("wait", f"wait for {reason}", site, self._causes(on))

    def _causes(self, on: Target) -> tuple[int, ...]:
        draft = self._draft
        if on is None or draft is None:
            return ()
        kind, thing, where = on
        if kind == "queue":
            over = draft.queued.get(thing, [])
            draft.queued[thing] = [entry for entry in over if entry[0] > where]
            return tuple(act for group, act in over if group <= where)
        if kind == "tasks":
            lanes = (draft.rows[agent] for agent in thing)
            return tuple(draft.last[lane] for lane in lanes if lane in draft.last)
        return tuple(draft.counted.get((thing, where), ()))

    def found(self, finding: Finding) -> None:
        """A mark at the current act."""
        self._flush()
        if self._draft is not None and self._draft.acts:
            lane = self._lane()
            act = self._draft.last.get(lane) if lane is not None else None
            if isinstance(self._who, Operation):
                act = self._draft.operations.get(self._who)
            self._draft.marks.append(Mark(len(self._draft.acts) - 1 if act is None else act, finding))


def _describe(work: Work) -> str:
    parts = []
    if work.flop:
        parts.append("dot")
    if work.elements or work.special:
        parts.append(f"arithmetic on {work.elements + work.special} elements")
    if work.shared:
        parts.append(f"{work.shared} bytes of shared memory")
    if work.nbytes:
        parts.append(f"{work.nbytes} bytes of global memory")
    return ", ".join(parts)
