"""Simulation of the mbarrier and named barrier primitives."""

from __future__ import annotations

from typing import Any

from .barriers import MBarrier, MBarrierArray, NamedBarrier
from .clocks import Clock, join
from .cta import Cta
from .findings import (
    ExpectBytes,
    NamedBarrierCollision,
    NamedBarrierMismatch,
    PhaseLag,
    SharedMemoryBudget,
    SlotOutOfRange,
    TensorMemoryBudget,
    TooManyArrivals,
    WrongPhase,
)
from .report import SimulationError
from .scheduler import Operation, Queue
from .sites import Site, call_position, here
from .storage import COLUMN_BYTES
from .unwrap import integer, plain, truth


class BarrierOps:
    """Part of the semantic layer; ``cta`` is the CTA being run."""

    cta: Cta

    def mbarrier_alloc(self, num: int, count: int, per_thread: bool) -> MBarrierArray:
        """``num`` barriers of ``count`` arrivals."""
        site = here()
        label = site.target or f"barriers of line {site.line}"
        bars = [MBarrier(f"{label}[{i}]", count, site, per_thread) for i in range(num)]
        for bar in bars:
            bar.cta, bar.index = self.cta, len(self.cta.mbarriers)
            self.cta.mbarriers.append(bar)
            if self.cta.scheduler.observer is not None:
                self.cta.scheduler.observer.allocated(bar)
        self.charge("shared", 8 * num, call_position())
        return MBarrierArray(bars, site, label)

    def charge(self, space: str, nbytes: int, position: object) -> None:
        """Counts memory against what a CTA has; in tensor memory the bytes of one lane."""
        budget = self.cta.budgets[space]
        used = budget.charge(position, nbytes, here())
        if used <= budget.capacity:
            return
        if space == "shared":
            what = f"{used} bytes of shared memory are allocated, {used - budget.capacity} too many"
            self.cta.found(SharedMemoryBudget, what, other=budget.largest)
        else:
            columns, there = used // COLUMN_BYTES, budget.capacity // COLUMN_BYTES
            what = f"{columns} columns of tensor memory are allocated, {columns - there} too many"
            self.cta.found(TensorMemoryBudget, what, other=budget.largest)

    def barrier_at(self, bars: MBarrierArray, index: Any) -> MBarrier:
        """One barrier of an array."""
        slot = integer(index)
        if not 0 <= slot < len(bars.bars):
            self.cta.stop(SlotOutOfRange, f"{bars.label}[{slot}]: there are {len(bars.bars)} barriers", other=bars.site)
        return bars.bars[slot]

    @staticmethod
    def one_barrier(bar: Any) -> MBarrier:
        """The barrier a primitive was given; an array of one counts as that one."""
        if isinstance(bar, MBarrierArray) and len(bar.bars) == 1:
            return bar.bars[0]
        if not isinstance(bar, MBarrier):
            raise SimulationError("a single barrier is needed here: index the array", here())
        return bar

    def mbarrier_wait(self, bar: Any, phase: Any, pred: Any = None) -> None:
        """Blocks until the phase of parity ``phase`` is over."""
        bar, parity = self.one_barrier(bar), integer(phase)
        if not truth(pred):
            return
        if bar.cta is not self.cta:
            raise SimulationError(
                f"{bar.name} belongs to CTA {bar.cta.rank}: only a CTA's own barriers can be waited for", here()
            )
        if parity not in (0, 1):
            raise SimulationError(f"a phase is 0 or 1, not {parity}", here())
        cta = self.cta
        agent, site = cta.agent, here()
        cta.scheduler.step()
        target = bar.target(agent, parity)
        agent.last_wait = bar.lane
        agent.last_barrier = bar
        agent.free_waits.pop(bar.lane, None)
        if target < bar.known_over(agent):
            agent.free_waits[bar.lane] = (bar, site)
        if bar.phase > target + 1:
            cta.report_overrun(bar, target, parity, site)
        reason, on = f"{bar.name}, phase of parity {parity}", ("phase", bar, target)
        cta.scheduler.wait(lambda: bar.passes(parity), reason, site, on, bar.site)
        if bar.phase > target + 1:
            cta.report_overrun(bar, target, parity, site)
        agent.learn(*bar.over)
        bar.passed[agent] = (target, agent.time, site)

    def remote_barrier(self, bar: Any, rank: Any) -> MBarrier:
        """The barrier of another CTA at the same place; its own for its own rank or None."""
        local = self.one_barrier(bar)
        return local if plain(rank) is None else self.cta.peer_barrier(local, integer(rank))

    def mbarrier_arrive(self, bar: Any, count: int, pred: Any = None, rank: Any = None) -> None:
        """Arrives ``count`` times, or with every thread of the task on a warp barrier; ``rank`` names another CTA."""
        if not truth(pred):
            return
        target = self.remote_barrier(bar, rank)
        self.cta.scheduler.step()
        threads = 32 * self.cta.agent.warps if target.per_thread else 1
        self._arrive(target, count * threads)

    def mbarrier_expect(self, bar: Any, nbytes: int, pred: Any = None) -> None:
        """Announces ``nbytes`` and arrives once."""
        if not truth(pred):
            return
        target = self.one_barrier(bar)
        self.cta.scheduler.step()
        target.outstanding += nbytes
        target.last_expect = here()
        self._arrive(target, 1)

    def _arrive(self, bar: MBarrier, count: int) -> None:
        cta, agent = self.cta, self.cta.agent
        if agent.clock.get(bar.lane, 0) < bar.phase:
            self._report_early_arrival(bar)
        cta.visit(bar.cta, agent.lane, agent.time, bar.site)
        alone = bar.pending == count == bar.count and not bar.outstanding
        bar.pending -= count
        clean = bar.pending >= 0
        if not clean:
            what = f"{bar.count - bar.pending} arrivals on {bar.name} in one phase, {bar.count} are due"
            cta.found(TooManyArrivals, what, other=bar.site, barriers=(bar.describe(),))
            bar.pending = 0
        bar.publish(agent)
        self.contributed(bar, clean)
        self.settle(bar)
        if alone:
            agent.own_phases[bar.lane] = bar.phase

    def _report_early_arrival(self, bar: MBarrier) -> None:
        agent = self.cta.agent
        what = f"{agent.name} arrives on {bar.name} in phase {bar.phase} without knowing that the one before is over"
        useless = agent.free_waits.get(agent.last_wait)
        if useless is None:
            self.cta.found(TooManyArrivals, what, other=bar.site, barriers=(bar.describe(),))
        else:
            waited, site = useless
            what += f": its wait on {waited.name} returned at once"
            self.cta.found(WrongPhase, what, other=site, barriers=(bar.describe(), waited.describe()))

    def arrive_by_unit(self, bar: MBarrier, queue: Queue, group: int, known: tuple[Clock, Clock], site: Site) -> None:
        """One arrival when all up to ``group`` in ``queue`` is over; publishes that and what its issuer ``known``."""
        bar.pending -= 1
        if bar.pending < 0:
            what = f"{bar.count - bar.pending} arrivals on {bar.name} in one phase, {bar.count} are due"
            self.cta.findings.add(TooManyArrivals, what, site, bar.site, (), (bar.describe(),))
        clean = bar.pending >= 0
        bar.pending = max(bar.pending, 0)
        bar.gather({queue.lane: group}, {})
        bar.gather(queue.phases, {})
        bar.gather(*known)
        self.contributed(bar, clean)
        self.settle(bar)
        queue.phases[bar.lane] = bar.phase

    def contributed(self, bar: MBarrier, clean: bool = True) -> None:
        """Tells the observer of an arrival, or of bytes that were announced or have landed."""
        observer = self.cta.scheduler.observer
        if observer is not None:
            # Bytes may land before they are announced, as long as the phase cannot end without the announcement.
            observer.contributed(bar, bar.phase, clean and (bar.outstanding >= 0 or bar.pending > 0))

    def settle(self, bar: MBarrier) -> None:
        """Ends the barrier's phase if it is due, and reports what should have come before."""
        ended = bar.phase
        for copy in bar.complete_if_due():
            self.cta.findings.add(
                ExpectBytes,
                f"{bar.name}: phase {bar.phase - 1} ends before the copy of line {copy.site.line} has landed: "
                "fewer bytes are expected than copied",
                bar.last_expect or bar.site, copy.site, (str(copy),), (bar.describe(),),
            )  # fmt: skip
        if bar.phase > ended and self.cta.check:
            self._report_overtaken(bar, ended)

    def _report_overtaken(self, bar: MBarrier, ended: int) -> None:
        """Reports waits for the phase before that nothing orders before the end of this one.

        They passed, but a wait tells a phase from the one after the next only as long as the one between has not ended.
        """
        late = {agent: at for agent, at in bar.passed.items() if at[0] == ended - 1}
        clock = dict(bar.shown)
        bars = [other for cta in bar.cta.cluster.ctas for other in cta.mbarriers]
        while any(clock.get(agent.lane, 0) < time for agent, (_, time, _) in late.items()):
            # That a phase is over may be all that a copy shows of its issuer; so is then what that phase waited for.
            known, before = dict(clock), len(bars)
            for other in bars:
                if known.get(other.lane, 0):
                    join(clock, other.over[0])
            bars = [other for other in bars if not known.get(other.lane, 0)]
            if len(bars) == before:
                break
        for agent, (_, time, site) in late.items():
            if clock.get(agent.lane, 0) < time:
                what = f"nothing orders the wait of {agent.name} on {bar.name} before the end of phase {ended}: had it "
                what += "come later, it would have waited for the phase after"
                self.cta.findings.add(PhaseLag, what, site, bar.site, (agent.name,), (bar.describe(),))

    def bind_copy(self, bar: MBarrier, copy: Operation) -> None:
        """Notes that ``copy`` will land on ``bar``."""
        bar.copies[copy] = bar.phase
        bar.last_copy = copy.site
        if self.cta.scheduler.observer is not None:
            self.cta.scheduler.observer.bound(bar, bar.phase)

    def land_copy(self, bar: MBarrier, copy: Operation, nbytes: int, known: Clock) -> None:
        """Counts the bytes of a copy that has landed, which shows ``known``."""
        del bar.copies[copy]
        bar.gather(known, {})
        bar.outstanding -= nbytes
        self.contributed(bar)
        self.settle(bar)

    # named barriers --------------------------------------------------------------------------------------------------

    def named_barrier(self, mode: str, identity: int, threads: int, generator: Any = None) -> None:
        """``mode`` is "sync" (takes part and blocks) or "arrive" (takes part)."""
        cta = self.cta
        agent, site = cta.agent, here()
        if not 0 <= identity <= 15:
            cta.stop(
                NamedBarrierCollision, f"named barrier {identity} does not exist: ids are 0 to 15", other=agent.site
            )
        if identity < 2 + cta.partitions:
            owner = {0: "the default task", 1: "the worker loop"}.get(identity, f"partition {identity - 2}")
            cta.found(
                NamedBarrierCollision, f"named barrier {identity} belongs to {owner} in compiled code", other=agent.site
            )
        if threads % 32 or threads <= 0:
            cta.found(NamedBarrierMismatch, f"{threads} threads: the count must be a multiple of 32")
        bar = cta.named.setdefault(identity, NamedBarrier(identity))
        cta.scheduler.step()

        def complain(what: str, other: Site | None) -> None:
            cta.found(
                NamedBarrierMismatch, f"named barrier {identity}: {what}", other=other, barriers=(bar.describe(),)
            )

        flip = bar.take_part(agent, threads, site, complain)
        if cta.scheduler.observer is not None:
            cta.scheduler.observer.took_part(bar, flip)
        if mode == "sync":
            reason = f"named barrier {identity} ({threads} threads)"
            cta.scheduler.wait(lambda: bar.flips >= flip, reason, site, ("flip", bar, flip), agent.site)
            known: tuple[Clock, Clock] = bar.over.get(flip, ({}, {}))
            agent.learn(*known)
