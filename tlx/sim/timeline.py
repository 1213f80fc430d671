"""Times for a trace: when each act would begin and end on a chip, and how long each task would stand still.

Acts are taken in the order in which they become ready; a task does one thing after the other, and a unit serves one
operation at a time, first come, first served. A load first takes the latency, during which the unit serves others.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from .costs import Chip
from .trace import Mark, Trace

#: the tensor cores may wait for loads for so large a part of the time before these are said not to hide
_HIDDEN = 0.05


@dataclass(frozen=True, slots=True)
class Bar:
    """An act with its times, in nanoseconds from the start of the CTA."""

    act: int
    #: issue of an operation, or arrival of a task at a wait; equal to ``begin`` for everything else
    ready: float
    begin: float
    end: float
    #: the act that ended last of those it had to wait for, if that was another lane's
    after: int | None

    @property
    def length(self) -> float:
        """How long it takes."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Share:
    """How a lane spends the time of the CTA; parts of 1."""

    busy: float
    #: a task at waits; 0 for a unit
    stalled: float
    #: what it is stalled for, see ``reason_of``
    reasons: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """A trace with times."""

    trace: Trace
    chip: Chip
    bars: tuple[Bar, ...]
    shares: tuple[Share, ...]
    #: when the last act ends
    end: float

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The findings."""
        return self.trace.marks

    def idle(self) -> tuple[float, tuple[tuple[str, float], ...]] | None:
        """How the tensor cores stand still between the first and the last asynchronous dot.

        Returns:
            The share of that time, and the parts of it during which the task that issues the next dot waits for loads
            or for other tasks, or is busy itself; None without asynchronous dots.
        """
        acts = self.trace.acts
        dots = sorted((bar for bar in self.bars if acts[bar.act].kind == "async_dot"), key=lambda bar: bar.begin)
        if not dots:
            return None
        span = max(bar.end for bar in dots) - dots[0].begin
        parts: dict[str, float] = {}
        total, free = 0.0, dots[0].end
        for dot in dots[1:]:
            gap = (free, dot.begin)
            free = max(free, dot.end)
            if gap[1] <= gap[0]:
                continue
            total += gap[1] - gap[0]
            for bar in self.bars:
                act = acts[bar.act]
                shared = min(bar.end, gap[1]) - max(bar.begin, gap[0])
                if act.lane == acts[dot.act].owner and shared > 0:
                    reason = reason_of(self.trace, bar) if act.kind in ("wait", "stuck") else "own work"
                    parts[reason] = parts.get(reason, 0.0) + shared
        return total / span, tuple(sorted(((name, time / span) for name, time in parts.items()), key=lambda p: -p[1]))

    def verdict(self) -> str:
        """One or two sentences on whether the loads hide behind the dots."""
        if self.trace.marks:
            return "There are findings: what comes after the first of them is a guess."
        idle = self.idle()
        if idle is None:
            return "There are no asynchronous dots in this CTA."
        share, parts = idle
        busy = f"From the first dot to the last the tensor cores are busy {1 - share:.0%} of the time"
        loads = dict(parts).get("loads", 0.0)
        hides = "the loads hide behind the dots" if loads < _HIDDEN else "the loads do not hide behind the dots"
        if share < _HIDDEN:
            return f"{busy}: {hides}."
        words = {"own work": "with arithmetic of its own"}
        named = [f"{part:.0%} {words.get(name, f'waiting for {name}')}" for name, part in parts if part >= 0.005]
        return f"{busy}: {hides}. While they stand still, the task that feeds them next spends {', '.join(named)}."


def timeline(trace: Trace, chip: Chip, from_device: bool = False) -> Timeline:
    """Gives every act its times.

    Args:
        trace: what a CTA did.
        chip: the cost model.
        from_device: copies come from device memory with all SMs reading, not from L2.
    """
    acts = trace.acts
    followers: list[list[int]] = [[] for _ in acts]
    missing = [len(act.causes) for act in acts]
    ready = [0.0] * len(acts)
    after: list[int | None] = [None] * len(acts)
    begins, ends = [0.0] * len(acts), [0.0] * len(acts)
    free = [0.0] * len(trace.lanes)
    for index, act in enumerate(acts):
        for cause in act.causes:
            followers[cause].append(index)
    heap = [(0.0, index) for index, count in enumerate(missing) if not count]
    heapq.heapify(heap)
    arrived = [0.0] * len(acts)
    while heap:
        moment, index = heapq.heappop(heap)
        act = acts[index]
        begin = moment
        if act.owner is not None:
            # A store only reads shared memory before its task may go on.
            latency = chip.latency if act.work.nbytes and act.kind != "TMA store" else 0.0
            begin = max(moment + latency, free[act.lane])
        elif act.kind == "wait":
            begin = arrived[index]
        end = max(begin, moment) + chip.duration(act, from_device)
        if act.kind == "wait" and after[index] is not None and moment > begin:
            end += chip.wake
        if act.owner is None and act.work.nbytes and act.kind == "compute":
            end += chip.latency
        free[act.lane] = end
        begins[index], ends[index] = begin, end
        for follower in followers[index]:
            missing[follower] -= 1
            if acts[follower].lane == act.lane and act.owner is None:
                arrived[follower] = max(arrived[follower], end)
            if end >= ready[follower]:
                ready[follower] = end
                after[follower] = index if acts[follower].lane != act.lane else None
            if not missing[follower]:
                heapq.heappush(heap, (ready[follower], follower))
    last = max(ends, default=0.0)
    if any(act.kind == "stuck" for act in acts):
        last = 1.15 * last + 100.0  # room to show that they never go on
    bars = []
    for index, act in enumerate(acts):
        end = last if act.kind == "stuck" else ends[index]
        start = ready[index] if act.owner is not None else begins[index]
        bars.append(Bar(index, start, begins[index], end, after[index]))
    shares = tuple(_share(trace, bars, lane, last) for lane in range(len(trace.lanes)))
    return Timeline(trace, chip, tuple(bars), shares, last)


def _share(trace: Trace, bars: list[Bar], lane: int, whole: float) -> Share:
    """The share of ``lane``; a stall is put down to what ended it."""
    busy = stalled = 0.0
    reasons: dict[str, float] = {}
    for bar in bars:
        act = trace.acts[bar.act]
        if act.lane != lane:
            continue
        if act.kind in ("wait", "stuck"):
            stalled += bar.length
            reason = reason_of(trace, bar)
            reasons[reason] = reasons.get(reason, 0.0) + bar.length
        else:
            busy += bar.length
    whole = whole or 1.0
    parts = sorted(((name, time / whole) for name, time in reasons.items() if time), key=lambda part: -part[1])
    return Share(busy / whole, stalled / whole, tuple(parts))


def reason_of(trace: Trace, bar: Bar) -> str:
    """What a wait is put down to: "loads", "stores", "dots", "other tasks", or "ever" if nothing ends it."""
    if trace.acts[bar.act].kind == "stuck":
        return "ever"
    if bar.after is None:
        return "other tasks"
    cause = trace.acts[bar.after]
    if cause.owner is None:
        return "other tasks"
    if cause.kind == "TMA store":
        return "stores"
    return "dots" if cause.work.flop else "loads"
