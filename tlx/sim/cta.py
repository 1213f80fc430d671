"""One simulated CTA: who runs, what is in its memories, and how an access to them can be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .barriers import MBarrier, NamedBarrier
from .clocks import Clock
from .findings import (
    Finding,
    MissingFence,
    PeerExited,
    PhaseLag,
    Race,
    ReadBeforeFill,
    ReleaseBeforeRetire,
    ResultBeforeRetire,
    StorageAliasOverlap,
    WrongPhase,
)
from .report import SimulationError
from .scheduler import Agent, Halt
from .shadow import Access, Proxy, Verdict
from .shared import Buffer, View
from .sites import Site, here
from .storage import CAPACITY, COLUMN_BYTES, COLUMNS, Budget

if TYPE_CHECKING:
    from .cluster import Cluster


class Cta:
    """State of one CTA from launch to exit."""

    def __init__(self, cluster: Cluster, rank: int, program: tuple[int, int, int]) -> None:
        self.cluster = cluster
        self.rank = rank
        self.program = program
        self.scheduler = cluster.scheduler
        self.findings = cluster.findings
        #: whether accesses are checked; without it only values and deadlocks are
        self.check = cluster.check
        self.warps = cluster.warps
        self.budgets = {"shared": Budget(CAPACITY, 16), "tensor": Budget(COLUMNS * COLUMN_BYTES, COLUMN_BYTES)}
        #: allocations in program order, which is the same in every CTA
        self.buffers: list[Buffer] = []
        self.mbarriers: list[MBarrier] = []
        self.named: dict[int, NamedBarrier] = {}
        #: the code outside tasks, and the tasks of the region being run
        self.kernel: Agent = None  # type: ignore[assignment]
        self.tasks: list[Agent] = []
        #: number of non-default task replicas of the region being run
        self.partitions = 0
        self.in_region = False
        self.exited = False
        #: what other CTAs have done here: lane → (time, its line, the line that allocates what it reaches)
        self.visits: dict[int, tuple[int, Site, Site]] = {}

    @property
    def suffix(self) -> str:
        """What tells it from the other CTAs of its cluster."""
        return f" of CTA {self.rank}" if self.cluster.size > 1 else ""

    def warps_running(self) -> list[Agent]:
        """Whose warps these are now."""
        return [agent for agent in self.tasks if not agent.done] or [self.kernel]

    @property
    def agent(self) -> Agent:
        """Who is running."""
        agent = self.scheduler.current
        assert agent is not None
        return agent

    def found(self, kind: type[Finding], what: str, **details: Any) -> None:
        """Records a finding at the line being run."""
        agent = self.agent
        details.setdefault("agents", (agent.name,))
        if not details.get("barriers") and agent.last_barrier is not None:
            details["barriers"] = (agent.last_barrier.describe(),)
        self.findings.add(kind, what, details.pop("site", None) or here(), **details)

    def stop(self, kind: type[Finding], what: str, **details: Any) -> None:
        """Records a finding after which this CTA cannot go on."""
        self.found(kind, what, **details)
        raise Halt

    # other CTAs of the cluster ---------------------------------------------------------------------------------------

    def peer(self, rank: int) -> Cta:
        """The CTA of that rank.

        Raises:
            SimulationError: the cluster has no such CTA.
        """
        if not 0 <= rank < self.cluster.size:
            raise SimulationError(f"CTA {rank} of a cluster of {self.cluster.size} does not exist", here())
        return self.cluster.ctas[rank]

    def peer_view(self, view: View, rank: int) -> View:
        """The bytes of CTA ``rank`` at the place where ``view`` has its own.

        A peer that has not come to the allocation yet is waited for: in compiled code all memory is there at launch.
        """
        if rank == self.rank:
            return view
        known = view.peers.get(rank)
        if known is None:
            peer, ordinal = self.peer(rank), view.buffer.ordinal
            what = f"the allocation of {view.buffer.label} in CTA {rank}"
            self.scheduler.wait(lambda: len(peer.buffers) > ordinal, what, here())
            buffer = peer.buffers[ordinal]
            array = buffer.place.mirror(view.array, view.place)
            known = View(buffer, f"{view.label} of CTA {rank}", array, view.dtype, buffer.place)
            view.peers[rank] = known
        return known

    def peer_barrier(self, bar: MBarrier, rank: int) -> MBarrier:
        """The barrier of CTA ``rank`` at the place of ``bar``."""
        if rank == bar.cta.rank:
            return bar
        peer = self.peer(rank)
        what = f"the allocation of {bar.name} in CTA {rank}"
        self.scheduler.wait(lambda: len(peer.mbarriers) > bar.index, what, here())
        return peer.mbarriers[bar.index]

    def known_phases(self) -> Clock:
        """Of all barriers of the cluster, the phases that the current agent knows to be over."""
        clock = self.agent.clock
        lanes = (bar.lane for cta in self.cluster.ctas for bar in cta.mbarriers)
        return {lane: clock[lane] for lane in lanes if lane in clock}

    def visit(self, peer: Cta, lane: int, time: int, allocated: Site) -> None:
        """Notes an access to ``peer``, over at the event (lane, time): it must not exit before."""
        if peer is self:
            return
        if peer.exited:
            self.found(PeerExited, f"an access to CTA {peer.rank} of the cluster, which has exited", other=allocated)
        peer.visits[lane] = (time, here(), allocated)

    def leave(self) -> None:
        """The kernel has ended here: all that others do to this CTA must be known to be over."""
        self.exited = True
        if not self.check:
            return
        clock = self.kernel.clock
        for lane, (time, site, allocated) in self.visits.items():
            if clock.get(lane, 0) < time:
                self.found(
                    PeerExited,
                    f"CTA {self.rank} may exit before another CTA's access to it is over",
                    site=site,
                    other=allocated,
                )

    # accesses to memory ----------------------------------------------------------------------------------------------

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
        storage = view.place
        observer = self.scheduler.observer
        if observer is not None:
            observer.accessed(storage, view.runs, write, view, kind, end is not None)
        if not self.check:
            return
        agent, site = self.agent, here()
        if write:
            storage.mark_filled(view.runs)
        elif not storage.is_filled(view.runs) and not (view.in_tensor_memory and proxy is Proxy.GENERIC):
            # A load from tensor memory may be for nothing: what it gets is poison, and shows if it is used.
            self._report_unfilled(view, kind, site)
        lane, time = end or (agent.lane, agent.time)
        self.visit(view.buffer.cta, lane, time, view.buffer.site)
        new = Access(
            write, proxy, lane, time, agent.lane, agent.time, kind, agent.name, site, view.label, view.buffer.ordinal
        )
        visible = agent.proxied if self.cluster.fences == "written" else agent.clock
        for verdict, old in storage.shadow.access(view.runs, new, agent.clock, visible):
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
            self.found(
                ReadBeforeFill,
                f"{kind} of {view.label}, which nothing has written yet",
                site=site,
                other=view.buffer.site,
            )

    def _report_conflict(self, verdict: Verdict, old: Access, new: Access) -> None:
        agents = (str(old), str(new))
        kind: type[Finding]
        bars = (bar for cta in self.cluster.ctas for bar in cta.mbarriers if bar.lane == old.lane)
        barriers = tuple(bar.describe() for bar in bars)
        other = old.site
        if verdict is Verdict.UNFENCED:
            kind = MissingFence
            did = "sees what {} stored there" if old.write else "overwrites what {} may still be loading"
            what = f"{new.kind} of {new.view} {did.format(old.agent)} without a proxy fence in between"
        elif old.buffer != new.buffer:
            kind = StorageAliasOverlap
            what = f"{new.view} shares storage with {old.view}, whose {old.kind} may still be under way"
        elif old.write and old.kind.startswith("async_dot") and not new.write:
            kind = ResultBeforeRetire
            what = f"{new.kind} of {new.view} although the {old.kind} that computes it may still be under way"
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

    def report_overrun(self, bar: MBarrier, target: int, parity: int, site: Site) -> None:
        """Reports a waiter whose barrier may already be past the phase after the one it wants."""
        ahead = bar.phase - target - 1
        kind: type[Finding] = PhaseLag
        what = f"the wait on {bar.name} for parity {parity} means phase {target}, but {ahead} later may be over as well"
        if target < bar.known_over(self.agent):
            kind = WrongPhase
            what = f"the wait on {bar.name} for parity {parity} asks for a phase that was over before it could begin"
        self.found(kind, what, site=site, other=bar.last_expect or bar.site, barriers=(bar.describe(),))
