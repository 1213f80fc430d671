"""Simulation of the mbarrier and named barrier primitives."""

from __future__ import annotations

from typing import Any

from .barriers import MBarrier, MBarrierArray, NamedBarrier
from .clocks import Clock
from .cta import Cta
from .findings import (
    ExpectBytes,
    NamedBarrierCollision,
    NamedBarrierMismatch,
    SharedMemoryBudget,
    SlotOutOfRange,
    TooManyArrivals,
    WrongPhase,
)
from .report import SimulationError
from .scheduler import Operation
from .shared import CAPACITY
from .sites import Site, call_position, here
from .unwrap import integer, truth


class BarrierOps:
    """Part of the semantic layer; ``cta`` is the CTA being run."""

    cta: Cta

    def mbarrier_alloc(self, num: int, count: int, per_thread: bool) -> MBarrierArray:
        """``num`` barriers of ``count`` arrivals."""
        site = here()
        label = site.target or f"barriers of line {site.line}"
        bars = [MBarrier(f"{label}[{i}]", count, site, per_thread) for i in range(num)]
        self.cta.mbarriers.extend(bars)
        if self.cta.scheduler.observer is not None:
            for bar in bars:
                self.cta.scheduler.observer.allocated(bar)
        self.charge(8 * num)
        return MBarrierArray(bars, site, label)

    def charge(self, nbytes: int) -> None:
        """Counts shared memory against what a CTA has."""
        used = self.cta.shared.charge(call_position(), nbytes)
        if used > CAPACITY:
            self.cta.found(
                SharedMemoryBudget, f"{used} bytes of shared memory are allocated, {used - CAPACITY} too many"
            )

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
        if parity not in (0, 1):
            raise SimulationError(f"a phase is 0 or 1, not {parity}", here())
        cta = self.cta
        agent, site = cta.agent, here()
        cta.scheduler.step()
        target = bar.target(agent, parity)
        agent.last_wait = bar.lane
        agent.free_waits.pop(bar.lane, None)
        if target < bar.known_over(agent):
            agent.free_waits[bar.lane] = (bar, site)
        if bar.phase > target + 1:
            cta.report_overrun(bar, target, parity, site)
        cta.scheduler.wait(
            lambda: bar.passes(parity), f"{bar.name}, phase of parity {parity}", site, ("phase", bar, target)
        )
        if bar.phase > target + 1:
            cta.report_overrun(bar, target, parity, site)
        agent.learn(*bar.over)

    def mbarrier_arrive(self, bar: Any, count: int, pred: Any = None) -> None:
        """Arrives ``count`` times, or with every thread of the task on a warp barrier."""
        bar = self.one_barrier(bar)
        if truth(pred):
            self.cta.scheduler.step()
            threads = 32 * self.cta.agent.warps if bar.per_thread else 1
            self._arrive(bar, count * threads)

    def mbarrier_expect(self, bar: Any, nbytes: int, pred: Any = None) -> None:
        """Announces ``nbytes`` and arrives once."""
        bar = self.one_barrier(bar)
        if not truth(pred):
            return
        self.cta.scheduler.step()
        bar.outstanding += nbytes
        bar.last_expect = here()
        self._arrive(bar, 1)

    def _arrive(self, bar: MBarrier, count: int) -> None:
        cta, agent = self.cta, self.cta.agent
        if agent.clock.get(bar.lane, 0) < bar.phase:
            self._report_early_arrival(bar)
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

    def contributed(self, bar: MBarrier, clean: bool = True) -> None:
        """Tells the observer of an arrival, or of bytes that were announced or have landed."""
        observer = self.cta.scheduler.observer
        if observer is not None:
            # Bytes may land before they are announced, as long as the phase cannot end without the announcement.
            observer.contributed(bar, bar.phase, clean and (bar.outstanding >= 0 or bar.pending > 0))

    def settle(self, bar: MBarrier) -> None:
        """Ends the barrier's phase if it is due and reports copies that the phase should have waited for."""
        for copy in bar.complete_if_due():
            self.cta.findings.add(
                ExpectBytes,
                f"{bar.name}: phase {bar.phase - 1} ends before the copy of line {copy.site.line} has landed: "
                "fewer bytes are expected than copied",
                bar.last_expect or bar.site, copy.site, (str(copy),), (bar.describe(),),
            )  # fmt: skip

    def bind_copy(self, bar: MBarrier, copy: Operation) -> None:
        """Notes that ``copy`` will land on ``bar``."""
        bar.copies[copy] = bar.phase
        bar.last_copy = copy.site
        if self.cta.scheduler.observer is not None:
            self.cta.scheduler.observer.bound(bar, bar.phase)

    def land_copy(self, bar: MBarrier, copy: Operation, nbytes: int) -> None:
        """Counts the bytes of a copy that has landed."""
        del bar.copies[copy]
        bar.outstanding -= nbytes
        self.contributed(bar)
        self.settle(bar)

    # named barriers --------------------------------------------------------------------------------------------------

    def named_barrier(self, mode: str, identity: int, threads: int, generator: Any = None) -> None:
        """``mode`` is "sync" (takes part and blocks) or "arrive" (takes part)."""
        cta = self.cta
        agent, site = cta.agent, here()
        if not 0 <= identity <= 15:
            cta.stop(NamedBarrierCollision, f"named barrier {identity} does not exist: ids are 0 to 15")
        if identity < 2 + cta.partitions:
            owner = {0: "the default task", 1: "the worker loop"}.get(identity, f"partition {identity - 2}")
            cta.found(NamedBarrierCollision, f"named barrier {identity} belongs to {owner} in compiled code")
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
            cta.scheduler.wait(lambda: bar.flips >= flip, reason, site, ("flip", bar, flip))
            known: tuple[Clock, Clock] = bar.over.get(flip, ({}, {}))
            agent.learn(*known)
