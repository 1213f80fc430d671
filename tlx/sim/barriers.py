"""mbarriers and named barriers, with their exact phase rules and the order they create.

An mbarrier counts phases. A phase is over when ``count`` arrivals have come and the announced bytes have landed; the
test ``wait(p)`` only sees the parity of the current phase. The absolute number kept here tells when that test is
ambiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clocks import Clock, join, new_lane
from .scheduler import Agent, Operation
from .sites import Site
from .slotted import Slotted

if TYPE_CHECKING:
    from collections.abc import Callable


class MBarrier:
    """One mbarrier."""

    def __init__(self, name: str, count: int, site: Site, per_thread: bool) -> None:
        self.name = name
        #: arrivals per phase
        self.count = count
        #: whether every thread of an arriving task counts
        self.per_thread = per_thread
        self.site = site
        #: time in this lane = number of phases over
        self.lane = new_lane()
        self.phase = 0
        self.pending = count
        #: bytes announced minus bytes landed
        self.outstanding = 0
        #: what the arrivals of finished phases, and those of the current one, published
        self.over: tuple[Clock, Clock] = ({}, {})
        self.gathered: tuple[Clock, Clock] = ({}, {})
        #: copies bound to the barrier that have not landed, with the phase they were issued in
        self.copies: dict[Operation, int] = {}
        #: task → the last phase it waited for and passed, when that was, and where
        self.passed: dict[Agent, tuple[int, int, Site]] = {}
        #: what the arrivals of the phase that ended last published
        self.shown: Clock = {}
        #: whose barrier it is, and its number there: the same in every CTA of a cluster
        self.cta: Any = None
        self.index = -1
        self.last_expect: Site | None = None
        self.last_copy: Site | None = None

    def describe(self) -> str:
        """Its state in words."""
        arrived = self.count - self.pending
        where = self.cta.suffix if self.cta is not None else ""
        parts = [
            f"{self.name}{where}: phase {self.phase} (parity {self.phase & 1}), {arrived} of {self.count} arrivals"
        ]
        if self.outstanding > 0:
            parts.append(f"{self.outstanding} bytes expected and not copied")
        elif self.outstanding < 0:
            parts.append(f"{-self.outstanding} bytes copied and not expected")
        if self.copies:
            parts.append(f"{len(self.copies)} copies in flight")
        return ", ".join(parts)

    def passes(self, parity: int) -> bool:
        """The hardware's test: the current phase has the other parity."""
        return (self.phase & 1) != parity

    def known_over(self, agent: Agent) -> int:
        """How many phases ``agent`` knows to be over."""
        return max(agent.clock.get(self.lane, 0), agent.own_phases.get(self.lane, 0))

    def target(self, agent: Agent, parity: int) -> int:
        """The phase that a wait for ``parity`` means to ``agent``: the first not known to be over, or the last."""
        known = self.known_over(agent)
        return known if (known & 1) == parity else known - 1

    def publish(self, agent: Agent) -> None:
        """Adds what ``agent`` knows to the current phase."""
        self.gather(agent.clock, agent.proxied)
        agent.tick()

    def gather(self, clock: Clock, proxied: Clock) -> None:
        """Adds to what the current phase publishes."""
        join(self.gathered[0], clock)
        join(self.gathered[1], proxied)

    def complete_if_due(self) -> list[Operation]:
        """Ends the phase if nothing is missing; returns the copies of that phase that have not landed."""
        if self.pending > 0 or self.outstanding != 0:
            return []
        late = [op for op, phase in self.copies.items() if phase == self.phase]
        self.shown = self.gathered[0]
        self.phase += 1
        self.pending = self.count
        join(self.over[0], self.gathered[0])
        join(self.over[1], self.gathered[1])
        self.over[0][self.lane] = self.phase
        self.gathered = ({}, {})
        return late


class MBarrierArray(Slotted):
    """What ``alloc_barriers`` returns."""

    def __init__(self, bars: list[MBarrier], site: Site, label: str) -> None:
        self.bars = bars
        self.site = site
        self.label = label

    @property
    def num(self) -> int:
        """Number of barriers."""
        return len(self.bars)


class NamedBarrier:
    """One of the 16 hardware barriers of a CTA."""

    def __init__(self, identity: int) -> None:
        self.id = identity
        self.threads = 0
        self.arrived = 0
        self.flips = 0
        self.site: Site | None = None
        #: flip → what those who took part knew
        self.over: dict[int, tuple[Clock, Clock]] = {}
        self.gathered: tuple[Clock, Clock] = ({}, {})

    def describe(self) -> str:
        """Its state in words."""
        return f"named barrier {self.id}: {self.arrived} of {self.threads} threads, flipped {self.flips} times"

    def take_part(self, agent: Agent, threads: int, site: Site, complain: Callable[[str, Site | None], None]) -> int:
        """Adds a task's threads; returns the number of the flip it takes part in."""
        if self.threads not in (0, threads):
            complain(f"{agent.name} names {threads} threads, others {self.threads}", self.site)
        self.threads = threads if not self.arrived else self.threads
        self.site = site
        flip = self.flips + 1
        join(self.gathered[0], agent.clock)
        join(self.gathered[1], agent.proxied)
        agent.tick()
        self.arrived += 32 * agent.warps
        if self.arrived > self.threads:
            complain(f"{self.arrived} threads came, {self.threads} are expected", None)
        if self.arrived >= self.threads:
            self.flips = flip
            self.arrived = 0
            self.over[flip] = self.gathered
            self.over.pop(flip - 16, None)
            self.gathered = ({}, {})
        return flip
