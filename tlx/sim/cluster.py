"""A cluster: the CTAs that run together, and the barrier of all of them. Without clusters each has one CTA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .clocks import Clock, join
from .collected import Findings
from .cta import Cta
from .ending import report_deadlock, report_leftovers
from .report import SimulationError
from .scheduler import Agent, Scheduler

Index = tuple[int, int, int]


def clusters(programs: list[Index], extents: Index, shape: tuple[int, ...]) -> list[list[Index]]:
    """Programs that run together, in the order in which the first of each comes; a cluster's ranks count x first.

    Raises:
        SimulationError: the grid is not a multiple of the cluster.
    """
    if any(extent % size for extent, size in zip(extents, shape, strict=True)):
        raise SimulationError(f"a grid of {list(extents)} cannot be launched in clusters of {list(shape)}")
    if shape == (1, 1, 1):
        return [[program] for program in programs]
    wide, high, deep = shape
    firsts = dict.fromkeys((x // wide * wide, y // high * high, z // deep * deep) for x, y, z in programs)
    offsets = [(i, j, k) for k in range(deep) for j in range(high) for i in range(wide)]
    return [[(x + i, y + j, z + k) for i, j, k in offsets] for x, y, z in firsts]


class ClusterBarrier:
    """All warps of all CTAs meet. A CTA has come when the code outside tasks has, or every task that runs."""

    def __init__(self, ctas: list[Cta]) -> None:
        self.ctas = ctas
        self.flips = 0
        self.waiting: dict[Agent, None] = {}
        self.gathered: tuple[Clock, Clock] = ({}, {})
        self.over: tuple[Clock, Clock] = ({}, {})

    def describe(self) -> str:
        """Its state in words."""
        names = ", ".join(agent.name for agent in self.waiting) or "nobody"
        return f"the cluster barrier: flipped {self.flips} times, {names} waiting"

    def take_part(self, agent: Agent) -> int:
        """Adds an agent; returns the number of the flip it takes part in."""
        flip = self.flips + 1
        self.waiting[agent] = None
        join(self.gathered[0], agent.clock)
        join(self.gathered[1], agent.proxied)
        agent.tick()
        if all(agent in self.waiting for cta in self.ctas for agent in cta.warps_running()):
            self.flips = flip
            self.waiting.clear()
            self.over, self.gathered = self.gathered, ({}, {})
        return flip


class Cluster:
    """The CTAs of one cluster, and what they share."""

    def __init__(
        self,
        scheduler: Scheduler,
        findings: Findings,
        check: bool,
        warps: int,
        programs: list[Index],
        claim: Callable[[], Index | None],
        fences: str = "written",
    ) -> None:
        self.scheduler = scheduler
        self.findings = findings
        self.check = check
        #: "written": proxy fences are where the kernel has them; "compiled": also where a compiler puts them
        self.fences = fences
        self.warps = warps
        self.ctas = [Cta(self, rank, program) for rank, program in enumerate(programs)]
        self.barrier = ClusterBarrier(self.ctas)
        #: takes a cluster that has not been launched yet out of the grid: its first program, or None
        self.claim = claim

    @property
    def size(self) -> int:
        """CTAs."""
        return len(self.ctas)

    def run(self, body: Callable[[], Any]) -> None:
        """Runs ``body`` in every CTA and looks at how they end."""
        for cta in self.ctas:
            cta.kernel = Agent("the kernel" + cta.suffix, self.warps, cta=cta)
        stuck = self.scheduler.run(*((cta.kernel, self._until_exit(cta, body)) for cta in self.ctas))
        if stuck:
            report_deadlock(self, stuck)
            return
        for cta in self.ctas:
            self.findings.program = cta.program
            report_leftovers(cta)

    @staticmethod
    def _until_exit(cta: Cta, body: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> None:
            body()
            cta.leave()

        return run

    def describe_barriers(self) -> Iterator[str]:
        """The state of every barrier of every CTA, for a report; those that somebody waits for come first."""
        waiting = [agent.last_barrier for agent in self.scheduler.agents if agent.waiting is not None]
        wanted = [bar for bar in dict.fromkeys(waiting) if bar is not None]
        yield from (bar.describe() for bar in wanted)
        for cta in self.ctas:
            yield from (bar.describe() for bar in cta.mbarriers if bar not in wanted)
            yield from (bar.describe() + cta.suffix for bar in cta.named.values())
        if self.size > 1:
            yield self.barrier.describe()
