"""One simulated CTA: who runs, what is in shared memory, and what has been found."""

from __future__ import annotations

from typing import Any

from .barriers import MBarrier, NamedBarrier
from .findings import (
    Deadlock,
    ExpectBytes,
    Finding,
    LeftoverState,
    MissingFence,
    PhaseLag,
    Race,
    ReadBeforeFill,
    ReleaseBeforeRetire,
    StorageAliasOverlap,
    WrongPhase,
)
from .observer import Observer
from .scheduler import Agent, Halt, Scheduler
from .shadow import Access, Proxy, Verdict
from .shared import SharedMemory, View
from .sites import Site, here

#: enough to understand a kernel that is wrong everywhere
MOST_FINDINGS = 50


class Findings:
    """All findings of a run; the same fault at the same lines counts once."""

    def __init__(self, schedule: str, observer: Observer | None = None) -> None:
        self.schedule = schedule
        self.observer = observer
        self.program = (0, 0, 0)
        self._found: dict[Any, Finding] = {}

    def add(
        self,
        kind: type[Finding],
        what: str,
        site: Site,
        other: Site | None = None,
        agents: tuple[str, ...] = (),
        barriers: tuple[str, ...] = (),
    ) -> None:
        """Records one."""
        key = (kind.code, site, other)
        if key not in self._found and len(self._found) < MOST_FINDINGS:
            finding = kind(what, site, other, agents, barriers, self.program, self.schedule)
            self._found[key] = finding
            if self.observer is not None:
                self.observer.found(finding)

    def __iter__(self) -> Any:
        return iter(self._found.values())

    def has(self, kind: type[Finding]) -> bool:
        """Whether one of that kind was found."""
        return any(isinstance(finding, kind) for finding in self._found.values())


class Cta:
    """State of one CTA from launch to exit."""

    def __init__(self, scheduler: Scheduler, findings: Findings, check: bool, warps: int) -> None:
        self.scheduler = scheduler
        self.findings = findings
        #: whether accesses are checked; without it only values and deadlocks are
        self.check = check
        self.warps = warps
        self.shared = SharedMemory()
        self.mbarriers: list[MBarrier] = []
        self.named: dict[int, NamedBarrier] = {}
        #: number of non-default task replicas of the region being run
        self.partitions = 0
        self.in_region = False

    @property
    def agent(self) -> Agent:
        """Who is running."""
        agent = self.scheduler.current
        assert agent is not None
        return agent

    def found(self, kind: type[Finding], what: str, **details: Any) -> None:
        """Records a finding at the line being run."""
        details.setdefault("agents", (self.agent.name,))
        self.findings.add(kind, what, details.pop("site", None) or here(), **details)

    def stop(self, kind: type[Finding], what: str, **details: Any) -> None:
        """Records a finding after which this CTA cannot go on."""
        self.found(kind, what, **details)
        raise Halt

    def barrier_states(self) -> tuple[str, ...]:
        """The state of every barrier, for a report."""
        bars: list[MBarrier | NamedBarrier] = [*self.mbarriers, *self.named.values()]
        return tuple(bar.describe() for bar in bars)

    # accesses to shared memory ---------------------------------------------------------------------------------------

    def access(
        self,
        view: View,
        *,
        write: bool,
        kind: str,
        proxy: Proxy = Proxy.GENERIC,
        end: tuple[int, int] | None = None,
    ) -> None:
        """Charges an access by the current agent; ``end`` is the event that ends an asynchronous one."""
        storage = view.buffer.storage
        observer = self.scheduler.observer
        if observer is not None:
            observer.accessed(storage, view.runs, write, view, kind, end is not None)
        if not self.check:
            return
        agent, site = self.agent, here()
        if write:
            storage.mark_filled(view.runs)
        elif not storage.is_filled(view.runs):
            self._report_unfilled(view, kind, site)
        lane, time = end or (agent.lane, agent.time)
        new = Access(
            write, proxy, lane, time, agent.lane, agent.time, kind, agent.name, site, view.label, id(view.buffer)
        )
        for verdict, old in storage.shadow.access(view.runs, new, agent.clock, agent.proxied):
            self._report_conflict(verdict, old, new)

    def _report_unfilled(self, view: View, kind: str, site: Site) -> None:
        agent = self.agent
        if agent.free_waits:
            bar, waited = next(reversed(agent.free_waits.values()))
            self.found(
                WrongPhase,
                f"{kind} of {view.label}, which nothing has written; the wait on {bar.name} before it returned at once",
                site=site, other=waited, barriers=(bar.describe(),),
            )  # fmt: skip
        else:
            self.found(ReadBeforeFill, f"{kind} of {view.label}, which nothing has written yet", site=site)

    def _report_conflict(self, verdict: Verdict, old: Access, new: Access) -> None:
        agents = (str(old), str(new))
        kind: type[Finding]
        barriers: tuple[str, ...] = ()
        other = old.site
        if verdict is Verdict.UNFENCED:
            kind = MissingFence
            what = f"{new.kind} of {new.view} sees what {old.agent} stored there without a proxy fence in between"
        elif old.buffer != new.buffer:
            kind = StorageAliasOverlap
            what = f"{new.view} shares storage with {old.view}, whose {old.kind} may still be under way"
        elif verdict is Verdict.UNRETIRED and not old.write:
            kind = ReleaseBeforeRetire
            what = f"{new.kind} of {new.view} although the {old.kind} that reads it may still be under way"
        elif (free := self._useless_wait(old)) is not None:
            kind = WrongPhase
            bar, waited = free
            other = waited
            barriers = (bar.describe(),)
            what = (
                f"{new.kind} of {new.view} is not ordered with the {old.kind} of {old.agent}: "
                f"the wait on {bar.name} asked for a phase that was over and returned at once"
            )
        else:
            kind = Race
            what = f"{new.kind} of {new.view} is not ordered with the {old.kind} of {old.agent}"
        self.found(kind, what, site=new.site, other=other, agents=agents, barriers=barriers)

    def _useless_wait(self, old: Access) -> tuple[MBarrier, Site] | None:
        """The wait that returned at once although it should have ordered us behind ``old``.

        A reader's wait is on the barrier of the copy itself; a writer's is the last one before it writes.
        """
        agent = self.agent
        return agent.free_waits.get(old.lane if old.write else agent.last_wait)

    # the end ---------------------------------------------------------------------------------------------------------

    def report_deadlock(self, stuck: list[Agent]) -> None:
        """Says who waits for what, and what is wrong with the barriers they wait for."""
        states = self.barrier_states()
        self._diagnose_bytes()
        self._diagnose_overruns(stuck)
        lines = tuple(
            f"{agent.name} waits for {agent.waiting.reason} (line {agent.waiting.site.line})"
            for agent in stuck
            if agent.waiting is not None
        )
        # The code outside tasks only waits for its tasks; blame the others if there are any.
        blamed = [agent for agent in stuck if agent.waiting is not None and not agent.waiting.reason.endswith("tasks")]
        first = (blamed or stuck)[0].waiting
        second = blamed[1].waiting if len(blamed) > 1 else None
        assert first is not None
        self.findings.add(
            Deadlock,
            f"{len(blamed or stuck)} of {len(self.scheduler.agents)} agents wait for something that cannot happen",
            first.site,
            second.site if second is not None else None,
            lines,
            states,
        )

    def _diagnose_overruns(self, stuck: list[Agent]) -> None:
        """A wait that began before its barrier ran ahead could not tell then."""
        for agent in stuck:
            wait = agent.waiting
            if wait is not None and wait.on is not None and wait.on[0] == "phase":
                _, bar, target = wait.on
                if bar.phase > target + 1:
                    self.scheduler.current = agent
                    self.report_overrun(bar, target, target & 1, wait.site)

    def _diagnose_bytes(self) -> None:
        for bar in self.mbarriers:
            if bar.outstanding > 0 and not bar.copies:
                self._bytes(bar, f"{bar.outstanding} more bytes are expected than copied", bar.last_expect or bar.site)
            elif bar.outstanding < 0:
                what = f"{-bar.outstanding} bytes were copied that were not expected"
                self._bytes(bar, what, bar.last_expect or bar.last_copy or bar.site)

    def _bytes(self, bar: MBarrier, what: str, site: Site) -> None:
        self.findings.add(ExpectBytes, f"{bar.name}: {what}", site, None, (), (bar.describe(),))

    def report_leftovers(self, kernel: Agent) -> None:
        """Looks for unfinished business after the last task has ended."""
        self._diagnose_bytes()
        for bar in self.mbarriers:
            if bar.pending != bar.count and bar.outstanding == 0:
                what = f"{bar.name} ends with {bar.count - bar.pending} of {bar.count} arrivals of a phase"
                self.findings.add(LeftoverState, what, bar.site, None, (), (bar.describe(),))
            elif bar.last_expect is not None and kernel.clock.get(bar.lane, 0) < bar.phase:
                what = f"{bar.name}: nobody waits for the copies of its last phase"
                self.findings.add(LeftoverState, what, bar.last_expect, bar.site, (), (bar.describe(),))
        for agent in self.scheduler.agents:
            for queue, name in ((agent.dots, "dots"), (agent.stores, "descriptor stores"), (agent.copies, "copies")):
                if queue.retired < queue.issued:
                    what = f"{agent.name} ends with {queue.issued - queue.retired} {name} it has not waited for"
                    self.findings.add(LeftoverState, what, queue.last_site, None, (agent.name,))

    def report_overrun(self, bar: MBarrier, target: int, parity: int, site: Site) -> None:
        """Reports a waiter whose barrier may already be past the phase after the one it wants."""
        ahead = bar.phase - target - 1
        kind: type[Finding] = PhaseLag
        what = f"the wait on {bar.name} for parity {parity} means phase {target}, but {ahead} later may be over as well"
        if target < bar.known_over(self.agent):
            kind = WrongPhase
            what = f"the wait on {bar.name} for parity {parity} asks for a phase that was over before it could begin"
        self.found(kind, what, site=site, other=bar.last_expect, barriers=(bar.describe(),))
