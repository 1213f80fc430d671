"""Plays the tasks of a trace against each other and finds what some schedule could do wrong.

The tasks are run in one order only. Every order is covered all the same, because for each wait vector clocks must show
that it meets the same phase in all of them: the phase before the one it sees is known to be over when the wait begins,
and the phase after it cannot end before the wait is through (otherwise the parity would alias). Where that holds, tasks
and barriers are deterministic, and "happens before" in the order played is "happens before" in every order.

Asynchronous work is charged from its issue to the point that proves its end: a TMA load to its barrier's phase, a dot
to the wait that retires it. Two accesses of one slot, one of them a write, must be ordered by that measure.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from .events import Access, Agent, Arrive, Commit, Event, Expect, Fill, Issue, Multiply, Named, Retire, Trace, Wait
from .flaw import Flawed
from .memory import Clock, Memory, Use, join
from .values import Barrier, View


@dataclass(slots=True)
class _Phase:
    """An mbarrier while the game runs."""

    barrier: Barrier
    #: Completed phases so far.
    completed: int = 0
    arrivals: int = 0
    expected: int = 0
    loaded: int = 0
    clock: Clock = field(default_factory=dict)
    #: What was known at the end of each completed phase.
    past: list[Clock] = field(default_factory=list)
    #: Waits that passed: agent, its time, completed phases it saw, line.
    waits: list[tuple[str, int, int, int]] = field(default_factory=list)
    #: Line of the last expect and of the last load of the current phase.
    expect_line: int = 0
    fill_line: int = 0
    arrive_line: int = 0


@dataclass(slots=True)
class _Player:
    """An agent while the game runs."""

    agent: Agent
    next: int = 0
    clock: Clock = field(default_factory=dict)
    #: Unfinished items per in-order queue; an item is a list of uses.
    queues: dict[str, list[list[Use]]] = field(default_factory=lambda: defaultdict(list))
    uncommitted: list[Use] = field(default_factory=list)
    #: Generation of the named barrier it waits in.
    meeting: int | None = None

    @property
    def event(self) -> Event | None:
        """What it does next."""
        return self.agent.events[self.next] if self.next < len(self.agent.events) else None


@dataclass(slots=True)
class _Meeting:
    """A hardware barrier: generation, threads that came, their joint clock, and clocks of past generations."""

    generation: int = 0
    threads: int = 0
    #: Threads that it counts up to, as the first to come said.
    counts: int = 0
    clock: Clock = field(default_factory=dict)
    past: list[Clock] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Score:
    """What a clean game saw."""

    phases: int
    fills: int


def play(trace: Trace) -> Score:
    """Plays a trace to its end. Raises Flawed at the first flaw."""
    return _Game().play(trace)


class _Game:
    def __init__(self) -> None:
        self.phases: dict[Barrier, _Phase] = {}
        self.meetings: dict[int, _Meeting] = {}
        self.memory = Memory()
        self.known: Clock = {}
        self.fills: list[tuple[Barrier, int, int]] = []
        self.copies = 0

    def play(self, trace: Trace) -> Score:
        for number, stretch in enumerate(trace.stretches):
            players = [_Player(agent, clock=dict(self.known)) for agent in stretch]
            self.finish(players, f"{number}:")
            for player in players:
                join(self.known, player.clock)
        self.leftovers()
        phases = sum(phase.completed for phase in self.phases.values())
        return Score(phases, len(self.fills) + self.copies)

    def finish(self, players: list[_Player], prefix: str) -> None:
        """Runs the agents of one stretch until all are through."""
        names = {id(player): prefix + player.agent.name for player in players}
        moved = True
        while moved:
            moved = False
            for player in players:
                while (event := player.event) is not None and self.step(player, names[id(player)], event):
                    player.next += 1
                    moved = True
        stuck = [player for player in players if player.event is not None]
        if stuck:
            raise self.deadlock(stuck)
        for player in players:
            for queue, items in player.queues.items():
                if items and queue == "dot":
                    raise Flawed(
                        "dot-not-retired",
                        items[0][0].line if items[0] else player.agent.line,
                        "no async_dot_wait retires this dot before its task ends",
                    )

    # -- events --------------------------------------------------------------------------------------------------------

    def step(self, player: _Player, name: str, event: Event) -> bool:
        """Does one event; False where it must block."""
        now = player.clock.get(name, 0) + 1
        match event:
            case Wait():
                if not self.wait(player, name, now, event):
                    return False
            case Named():
                if not self.meet(player, event):
                    return False
            case Arrive(line=line, barrier=barrier, count=count):
                weight = count * (32 * player.agent.warps if barrier.array.per_thread else 1)
                player.clock[name] = now
                self.arrive(barrier, player.clock, weight, line)
            case Expect(line=line, barrier=barrier, nbytes=nbytes):
                player.clock[name] = now
                phase = self.phase(barrier)
                phase.expected, phase.expect_line = phase.expected + nbytes, line
                self.arrive(barrier, player.clock, 1, line)
            case Fill(line=line, view=view, barrier=barrier):
                player.clock[name] = now
                phase = self.phase(barrier)
                self.memory.use(
                    player.clock, Use(view, True, line, f"the load into {view.label}", (barrier, phase.completed + 1))
                )
                self.fills.append((barrier, phase.completed + 1, line))
                phase.loaded, phase.fill_line = phase.loaded + view.nbytes, line
                join(phase.clock, player.clock)
                self.complete(barrier, line)
            case Access(line=line, view=view, writes=writes):
                player.clock[name] = now
                what = f"the {'store to' if writes else 'load from'} {view.label}"
                self.memory.use(player.clock, Use(view, writes, line, what, (name, now)))
            case Issue(line=line, queue=queue, views=views, writes=writes):
                player.clock[name] = now
                self.copies += queue == "copy"
                self.issue(player, queue, views, writes, line)
            case Multiply():
                pass  # what its task does by itself, on what it has loaded already
            case Commit():
                player.queues["copy"].append(player.uncommitted)
                player.uncommitted = []
            case Retire(queue=queue, pending=pending):
                items = player.queues[queue]
                done = len(items) - pending
                for item in items[: max(0, done)]:
                    for use in item:
                        use.end = (name, now)
                del items[: max(0, done)]
        player.clock[name] = now
        return True

    def wait(self, player: _Player, name: str, now: int, event: Wait) -> bool:
        """Passes where the parity allows it, and checks that it allows it in every schedule."""
        barrier, phase = event.barrier, self.phase(event.barrier)
        if phase.completed & 1 == event.parity:
            return False
        seen = phase.completed
        if seen >= 2 and player.clock.get(barrier, 0) < seen - 1:
            raise Flawed(
                "phase-lag",
                event.line,
                f"the wait on {barrier.label} may pass two phases early: nothing shows its task that the "
                "phase before is over",
            )
        phase.waits.append((name, now, seen, event.line))
        if seen:
            join(player.clock, phase.past[seen - 1])
        return True

    def arrive(self, barrier: Barrier, clock: Clock, weight: int, line: int) -> None:
        """Counts arrivals and completes the phase when they are all there."""
        phase = self.phase(barrier)
        phase.arrivals += weight
        if phase.arrivals > barrier.array.arrivals:
            unit = "threads" if barrier.array.per_thread else "arrivals"
            raise Flawed(
                "too-many-arrivals",
                line,
                f"{barrier.label} gets {phase.arrivals} {unit} in one phase; it was allocated for "
                f"{barrier.array.arrivals}",
                barrier.array.line,
            )
        phase.arrive_line = line
        join(phase.clock, clock)
        self.complete(barrier, line)

    def complete(self, barrier: Barrier, line: int) -> None:
        """Ends the phase if nothing is missing."""
        phase = self.phase(barrier)
        if phase.arrivals < barrier.array.arrivals or phase.loaded < phase.expected:
            return
        if phase.loaded > phase.expected:
            raise _bytes(phase)
        phase.completed += 1
        for agent, time, seen, wait_line in phase.waits:
            if seen == phase.completed - 1 and phase.clock.get(agent, 0) < time:
                raise Flawed(
                    "phase-lag",
                    wait_line,
                    f"the next phase of {barrier.label} may end before this wait saw the last one: the "
                    "waiter can lag two phases behind",
                    line,
                )
        phase.waits = [wait for wait in phase.waits if wait[2] >= phase.completed]
        phase.clock[barrier] = phase.completed
        phase.past.append(phase.clock)
        phase.clock = dict(phase.clock)
        phase.arrivals = phase.expected = phase.loaded = 0

    def issue(self, player: _Player, queue: str, views: tuple[View, ...], writes: bool, line: int) -> None:
        """Begins asynchronous work of the task."""
        if queue == "dot" and player.agent.warps < 4:
            text = "async_dot needs a task of four warps or a multiple"
            raise Flawed("too-few-warps", line, text, player.agent.line)
        verb = {"dot": "the dot that reads", "store": "the TMA store of", "copy": "the copy into"}[queue]
        uses = [Use(view, writes, line, f"{verb} {view.label}", None, True) for view in views]
        for use in uses:
            self.memory.use(player.clock, use)
        if queue == "copy":
            player.uncommitted += uses
        else:
            player.queues[queue].append(uses)

    def meet(self, player: _Player, event: Named) -> bool:
        """A hardware barrier: opens once enough threads have come."""
        meeting = self.meetings.setdefault(event.number, _Meeting())
        if player.meeting is not None:
            if meeting.generation == player.meeting:
                return False
            join(player.clock, meeting.past[player.meeting])
            player.meeting = None
            return True
        if meeting.threads and meeting.counts != event.threads:
            text = f"named barrier {event.number} counts {event.threads} threads here and {meeting.counts} elsewhere"
            raise Flawed("named-barrier-count", event.line, text)
        meeting.counts = event.threads
        meeting.threads += 32 * player.agent.warps
        join(meeting.clock, player.clock)
        generation = meeting.generation
        if meeting.threads > event.threads:
            raise Flawed(
                "named-barrier-count",
                event.line,
                f"{meeting.threads} threads come to named barrier {event.number}, which counts {event.threads}",
            )
        if meeting.threads == event.threads:
            meeting.past.append(meeting.clock)
            meeting.generation, meeting.threads, meeting.clock = generation + 1, 0, {}
        if not event.blocks:
            return True
        if meeting.generation == generation:
            player.meeting = generation
            return False
        join(player.clock, meeting.past[generation])
        return True

    # -- ends ----------------------------------------------------------------------------------------------------------

    def deadlock(self, stuck: list[_Player]) -> Flawed:
        """Names the wait at the root: one whose barrier lacks bytes or arrivals that nobody left can bring."""
        for player in stuck:
            if isinstance(player.event, Wait):
                phase = self.phase(player.event.barrier)
                if phase.arrivals >= phase.barrier.array.arrivals and phase.expected != phase.loaded:
                    return _bytes(phase)
        lines = "; ".join(f"{player.agent.name} waits at line {player.event.line}" for player in stuck if player.event)
        event = stuck[0].event
        assert event is not None
        if isinstance(event, Wait):
            phase = self.phase(event.barrier)
            missing = phase.barrier.array.arrivals - phase.arrivals
            state = f"{event.barrier.label} has completed {phase.completed} phases and lacks {missing} arrivals"
            arrivers = {
                other.line
                for player in stuck
                for other in player.agent.events
                if isinstance(other, Arrive | Expect | Fill) and other.barrier.array is event.barrier.array
            }
            text = (
                state
                if arrivers or phase.completed
                else f"nothing arrives on {event.barrier.array.name} in this launch"
            )
            return Flawed("deadlock", event.line, f"{text}; {lines}", phase.arrive_line)
        return Flawed("deadlock", event.line, lines)

    def leftovers(self) -> None:
        """What must not be open when the kernel ends."""
        for barrier, phase in self.phases.items():
            if phase.loaded != phase.expected:
                raise _bytes(phase)
            if phase.arrivals:
                raise Flawed(
                    "leftover-state",
                    phase.arrive_line,
                    f"{barrier.label} ends with {phase.arrivals} of {barrier.array.arrivals} arrivals: "
                    "the tasks that arrive on it do not take the same number of trips",
                )
        for barrier, number, line in self.fills:
            if self.known.get(barrier, 0) < number:
                raise Flawed(
                    "leftover-state",
                    line,
                    f"the kernel ends without a wait for this load on {barrier.label}: loads and waits "
                    "do not take the same number of trips",
                )

    def phase(self, barrier: Barrier) -> _Phase:
        """The state of a barrier."""
        if barrier not in self.phases:
            self.phases[barrier] = _Phase(barrier)
        return self.phases[barrier]


def _bytes(phase: _Phase) -> Flawed:
    return Flawed(
        "expect-bytes",
        phase.expect_line or phase.fill_line,
        f"{phase.barrier.label} expects {phase.expected} bytes in a phase whose loads bring {phase.loaded}",
        phase.fill_line,
    )
