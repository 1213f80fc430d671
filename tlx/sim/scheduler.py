"""The loop that runs a cluster: tasks as greenlets, asynchronous operations as passive agents, one choice at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from .clocks import Clock, join, new_lane
from .observer import Observer, Target
from .report import EndlessError
from .schedules import Picker
from .sites import NOWHERE, Site, here


class Queue:
    """Asynchronous operations of one task that are waited for in the order in which they were issued."""

    __slots__ = ("in_order", "issued", "lane", "last_site", "operations", "phases", "retired", "working")

    def __init__(self, in_order: bool) -> None:
        self.lane = new_lane()
        #: whether they also complete in order
        self.in_order = in_order
        #: groups handed in, and waited for
        self.issued = 0
        self.retired = 0
        #: the last group that moves anything: copies may be masked away entirely
        self.working = 0
        self.last_site = NOWHERE
        #: phases of barriers that were over when its last arrival came; whoever sees a later one knows
        self.phases: Clock = {}
        #: not completed yet, oldest first
        self.operations: list[Operation] = []

    def drained_to(self, group: int) -> bool:
        """Whether all operations of groups up to ``group`` have completed."""
        return not any(op.group <= group for op in self.operations)


class Operation:
    """Something a task has started and that completes by itself, when the scheduler says so."""

    __slots__ = ("agent", "complete", "flop", "group", "kind", "queue", "site")

    def __init__(
        self,
        kind: str,
        agent: Agent,
        site: Site,
        complete: Callable[[], None],
        queue: Queue | None = None,
        group: int = 0,
        flop: float = 0.0,
    ) -> None:
        self.kind = kind
        self.agent = agent
        self.site = site
        self.complete = complete
        self.queue = queue
        self.group = group
        #: floating-point operations, for the cost model
        self.flop = flop

    def __str__(self) -> str:
        return f"{self.kind} of {self.agent.name} (line {self.site.line})"


@dataclass(slots=True)
class Wait:
    """Why a task does not go on."""

    ready: Callable[[], bool]
    reason: str
    site: Site
    #: what it is for, as observers are told
    on: Target = None
    #: another line that has to do with it
    other: Site | None = None


@dataclass(slots=True, eq=False)
class Agent:
    """The code outside tasks, or one replica of a task."""

    name: str
    warps: int
    replica: int = 0
    #: what it knows, and what of that is visible to the asynchronous proxy
    clock: Clock = field(default_factory=dict)
    proxied: Clock = field(default_factory=dict)
    lane: int = field(default_factory=new_lane)
    dots: Queue = field(default_factory=lambda: Queue(in_order=True))
    copies: Queue = field(default_factory=lambda: Queue(in_order=False))
    stores: Queue = field(default_factory=lambda: Queue(in_order=False))
    #: tcgen05 products and copies, which the tensor core takes in the order of issue
    products: Queue = field(default_factory=lambda: Queue(in_order=True))
    #: the CTA it runs in
    cta: Any = None
    #: lane of a barrier → the last wait on it and its line, where that wait returned without the completion of a phase
    free_waits: dict[int, tuple[Any, Site]] = field(default_factory=dict)
    #: lane of a barrier → phases that it knows to be over because its own arrival alone ended them
    own_phases: dict[int, int] = field(default_factory=dict)
    #: lane of the barrier it waited for last, and that barrier
    last_wait: int = -1
    last_barrier: Any = None
    #: the line that starts it; None for the code outside tasks
    site: Site | None = None
    waiting: Wait | None = None
    done: bool = False
    thread: Any = None

    def __post_init__(self) -> None:
        self.clock[self.lane] = 1

    @property
    def time(self) -> int:
        """Its own time; everything it does now carries it."""
        return self.clock[self.lane]

    @property
    def queues(self) -> tuple[Queue, ...]:
        """What it has in flight, kind by kind."""
        return (self.dots, self.copies, self.stores, self.products)

    def tick(self) -> None:
        """Separates what it did so far from what it does next; called after publishing its clock."""
        self.clock[self.lane] += 1

    def learn(self, clock: Clock, proxied: Clock) -> None:
        """Takes over what others published."""
        join(self.clock, clock)
        join(self.proxied, proxied)


class Halt(Exception):
    """Ends the simulation of this CTA after a finding that leaves nothing to go on with."""


class Scheduler:
    """Agents, what is in flight, and the loop."""

    def __init__(
        self,
        picker: Picker,
        max_steps: int,
        max_turns: int,
        observer: Observer | None = None,
        enter: Callable[[Agent], None] = lambda agent: None,
    ) -> None:
        self.picker = picker
        self.max_steps = max_steps
        self.max_turns = max_turns
        self.observer = observer
        #: told for whom the next line or completion happens
        self.enter = enter
        self.agents: list[Agent] = []
        self.in_flight: list[Operation] = []
        self.current: Agent | None = None
        self.steps = 0
        self.events = 0
        #: turns of loops since anything happened that another agent may wait for
        self.turns = 0
        self.hub: Any = None

    def spawn(self, agent: Agent, body: Callable[[], Any]) -> None:
        """Adds an agent that will run ``body``."""

        def live() -> None:
            body()
            agent.done = True
            if self.observer is not None:
                self.observer.ended(agent)

        agent.thread = greenlet(live, parent=self.hub)
        # numpy keeps its error state in a context variable, and greenlets start with none.
        agent.thread.gr_context = copy_context()
        self.agents.append(agent)
        if self.observer is not None:
            self.observer.spawned(agent)

    def start(self, operation: Operation) -> None:
        """Puts an operation in flight."""
        self.in_flight.append(operation)
        if operation.queue is not None:
            operation.queue.operations.append(operation)
        if self.observer is not None:
            self.observer.started(operation)

    def step(self) -> None:
        """A point where another agent may go first.

        Raises:
            EndlessError: there have been more of them than a kernel that ends is granted.
        """
        self.turns = 0
        self.look()

    def look(self) -> None:
        """A step that may be one of a loop that only looks (an atomic). Raises as `step`."""
        self.steps += 1
        if self.steps > self.max_steps:
            raise EndlessError(f"the CTA has not ended after {self.max_steps} steps", here())
        if self.picker.interrupts(len(self.in_flight)):
            self.hub.switch()

    def turn(self) -> None:
        """One more turn of a `while`.

        Raises:
            EndlessError: so many came one after the other, with no step of a role and no completion among them.
        """
        self.turns += 1
        if self.turns > self.max_turns:
            raise EndlessError(f"the program has not ended after {self.max_turns} turns of this loop", here())

    def wait(
        self, ready: Callable[[], bool], reason: str, site: Site, on: Target = None, other: Site | None = None
    ) -> None:
        """Blocks the current agent until ``ready()``; ``on`` tells observers what for, ``other`` readers where else."""
        agent, observer = self.current, self.observer
        assert agent is not None
        if self.picker.fine or not ready():
            agent.waiting = Wait(ready, reason, site, on, other)
            self.hub.switch()
        if observer is not None:
            observer.waited(agent, on, reason, site)

    def run(self, *starts: tuple[Agent, Callable[[], Any]]) -> list[Agent]:
        """Runs each (agent, body) and all they spawn; returns the agents that could not finish."""
        self.hub = getcurrent()
        for agent, body in starts:
            self.spawn(agent, body)
        try:
            while True:
                agents = [a for a in self.agents if not a.done and (a.waiting is None or a.waiting.ready())]
                operations = [op for op in self.in_flight if self._can_complete(op)]
                if not agents and not operations:
                    stuck = [a for a in self.agents if not a.done]
                    if stuck and self.observer is not None:
                        self.observer.stuck(stuck)
                    return stuck
                chosen: Any = self.picker.pick(agents, operations, self.current)
                if self.observer is not None:
                    self.observer.chosen(chosen)
                if isinstance(chosen, Operation):
                    self._finish(chosen)
                else:
                    chosen.waiting = None
                    if chosen is not self.current:
                        self.current = chosen
                        self.enter(chosen)
                    chosen.thread.switch()
        finally:
            self._abandon()

    @staticmethod
    def _can_complete(operation: Operation) -> bool:
        queue = operation.queue
        return queue is None or not queue.in_order or queue.operations[0] is operation

    def _finish(self, operation: Operation) -> None:
        self.in_flight.remove(operation)
        if operation.queue is not None:
            operation.queue.operations.remove(operation)
        self.events += 1
        self.turns = 0
        operation.complete()

    def _abandon(self) -> None:
        for agent in self.agents:
            if agent.thread and not agent.thread.dead:
                agent.thread.throw(GreenletExit)
