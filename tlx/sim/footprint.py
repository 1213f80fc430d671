"""What one step of a simulation touches, and which steps can change places without anybody noticing.

A step is what a task does from one scheduling point to the next, or the completion of one operation. Two steps of
different runners are *dependent* if they touch the same bytes and one writes them, or the same barrier, unless both
only count towards the same phase: arrivals and bytes of one phase add up to the same whatever their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .barriers import MBarrier, NamedBarrier
from .observer import Observer, Target
from .scheduler import Agent, Operation, Queue
from .shadow import Runs
from .shared import View
from .sites import Site
from .storage import Storage


class Touch(NamedTuple):
    """One thing that a step does to something it may share with others."""

    #: name of what is touched, the same in every run of the launch
    thing: Any
    #: "read" or "write" of bytes; "count" towards a phase or flip, the "wait" for it, and the "bind" of a copy to it;
    #: "end" of an operation or a task, and the "join" that waits for it; "any", which depends on everything
    how: str
    #: byte ranges; a phase, group or flip; or nothing
    where: Any = None
    #: of a count: whether it left nothing negative or unfinished behind, and whether it ended the phase
    clean: bool = True
    completes: bool = False


def _overlap(a: Runs, b: Runs) -> bool:
    return any(s < f and e < t for s, t in a for e, f in b)


def _clash(a: Touch, b: Touch) -> bool:
    """Whether two touches of the same thing keep their order; ``a`` comes first."""
    how = {a.how, b.how}
    if how <= {"read", "write"}:
        return "write" in how and _overlap(a.where, b.where)
    if how in ({"count"}, {"bind", "count"}):
        # If a ended the phase, b will not belong to it, even if it would have before.
        return a.where != b.where or a.completes or not (a.clean and b.clean)
    if how == {"end", "join"}:
        end, join = (a, b) if a.how == "end" else (b, a)
        return join.where is None or end.where <= join.where
    return "count" in how  # a count and a wait; waits do not disturb each other, nor do ends


def _forced(a: Touch, b: Touch) -> bool:
    """Whether a clash is one that has only one order: ``b`` waits for ``a``."""
    if b.how == "wait" and a.how == "count":
        return bool(a.where <= b.where)
    return b.how == "join"


@dataclass(frozen=True, slots=True)
class Footprint:
    """All touches of one step."""

    touches: tuple[Touch, ...]

    def clashes(self, other: Footprint) -> bool:
        """Whether a later step depends on this one."""
        vague = any(touch.how == "any" for touch in (*self.touches, *other.touches))
        return vague or any(self._clashes(other))

    def disturbs(self, sleeping: Footprint) -> bool:
        """Whether a step that was known before this one may now do something else."""
        # What would have ended a phase ends it no more, or too early, once anything else belongs to that phase.
        ended = {touch.thing for touch in sleeping.touches if touch.completes}
        late = any(touch.thing in ended and touch.how in ("bind", "count") for touch in self.touches)
        return late or self.clashes(sleeping)

    def reversible(self, later: Footprint) -> bool:
        """Whether ``later``, which clashes with this, might also come before it."""
        return not any(_forced(a, b) for a, b in self._clashes(later))

    def _clashes(self, other: Footprint) -> Iterator[tuple[Touch, Touch]]:
        pairs = ((a, b) for a in self.touches for b in other.touches if a.thing == b.thing)
        return (pair for pair in pairs if _clash(*pair))


@dataclass(slots=True, eq=False)
class Step:
    """One step of a run."""

    #: name of its runner, the same in every run: (task number,) or (task number, operation number)
    runner: tuple[int, ...]
    #: steps that come before it by the program: the runner's previous one, or the one that started the runner
    after: tuple[int, ...]
    footprint: Footprint = Footprint(())


class Watcher(Observer):
    """Writes down the steps of one CTA; the picker must be a fine one, or waits are inside steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        #: what stuck tasks wait for, by runner
        self.blocked: dict[tuple[int, ...], Footprint] = {}
        self.names: dict[Agent | Operation, tuple[int, ...]] = {}
        self._operations: dict[Agent, int] = {}
        self._touches: list[Touch] = []
        self._issued: list[Touch] = []
        self._accesses: dict[Operation, list[Touch]] = {}
        self._last: dict[tuple[int, ...], int] = {}
        self._completed: dict[Queue, int] = {}
        self._open = False
        self._things: dict[Any, Any] = {}

    def allocated(self, thing: MBarrier | Storage) -> None:
        """Allocations are made outside tasks, where no schedule changes their order."""
        self._things[thing] = len(self._things)

    def _name(self, thing: Any) -> Any:
        """Things that nobody announced share a name with their kind: more than need be depends on them."""
        return self._things.get(thing, type(thing).__name__)

    # the course of the run -------------------------------------------------------------------------------------------

    def close(self) -> None:
        """The step being run is over."""
        if self._open:
            self.steps[-1].footprint = Footprint(tuple(dict.fromkeys(self._touches)))
            self._open = False
        self._touches = []
        self._issued = []

    def chosen(self, who: Agent | Operation) -> None:
        """A new step."""
        self.close()
        name = self.names[who]
        now = len(self.steps)
        after = [self._last.get(name, -1)]
        self._last[name] = now
        if isinstance(who, Operation):
            self._touches += self._accesses.pop(who, [])
            queue = who.queue
            if queue is not None:
                self._touches.append(Touch(self._name(queue), "end", who.group))
                if queue.in_order:
                    after.append(self._completed.get(queue, -1))
                    self._completed[queue] = now
        self.steps.append(Step(name, tuple(index for index in after if index >= 0)))
        self._open = True

    def spawned(self, agent: Agent) -> None:
        """A new runner, named by the order of creation, which no schedule changes."""
        self.names[agent] = (len(self._operations),)
        self._operations[agent] = 0
        self._things[agent] = self.names[agent]
        self._things |= {queue: (self.names[agent], n) for n, queue in enumerate(agent.queues)}
        if self.steps:
            self._last[self.names[agent]] = len(self.steps) - 1

    def started(self, operation: Operation) -> None:
        """A new runner with a single step."""
        agent = operation.agent
        name = (*self.names[agent], self._operations[agent])
        self._operations[agent] += 1
        self.names[operation] = name
        self._last[name] = len(self.steps) - 1
        self._accesses[operation] = self._issued
        self._issued = []

    def ended(self, agent: Agent) -> None:
        """Its parent may be waiting for it."""
        self._touches.append(Touch(self._name(agent), "end"))

    def stuck(self, agents: list[Agent]) -> None:
        """Waits that never end still have an order with what they wait for."""
        self.close()
        for agent in agents:
            if agent.waiting is not None:
                self.blocked[self.names[agent]] = Footprint(tuple(self._waits(agent.waiting.on)))

    # what steps touch ------------------------------------------------------------------------------------------------

    def accessed(self, storage: Storage, runs: Runs, write: bool, view: View, kind: str, asynchronous: bool) -> None:
        """Shared memory; an operation touches again when it completes what was charged when it was issued."""
        touch = Touch(self._name(storage), "write" if write else "read", runs)
        self._touches.append(touch)
        if asynchronous:
            self._issued.append(touch)

    def touched(self, first: int, last: int, write: bool, nbytes: int) -> None:
        """Global memory."""
        self._touches.append(Touch("global", "write" if write else "read", ((first, last),)))

    def contributed(self, bar: MBarrier, phase: int, clean: bool) -> None:
        """A count towards a phase."""
        completes = bar.pending <= 0 and bar.outstanding == 0
        if completes and phase in bar.copies.values():
            clean = False  # a copy of this phase is still under way
        self._touches.append(Touch(self._name(bar), "count", phase, clean, completes))

    def bound(self, bar: MBarrier, phase: int) -> None:
        """A copy takes note of the phase."""
        self._touches.append(Touch(self._name(bar), "bind", phase))

    def took_part(self, bar: NamedBarrier, flip: int) -> None:
        """A count towards a flip."""
        self._touches.append(Touch(("named", bar.id), "count", flip))

    def waited(self, agent: Agent, on: Target, reason: str, site: Site) -> None:
        """A wait is the first thing of its step: tasks give way before each."""
        self._touches.extend(self._waits(on))

    def _waits(self, on: Target) -> Iterator[Touch]:
        kind: str
        thing: Any
        kind, thing, where = on if on is not None else ("any", None, None)
        if kind == "tasks":
            yield from (Touch(self._name(agent), "join") for agent in thing)
        elif kind == "queue":
            yield Touch(self._name(thing), "join", where)
        elif kind == "flip":
            yield Touch(("named", thing.id), "wait", where)
        else:
            yield Touch(self._name(thing), "any" if kind == "any" else "wait", where)
