"""The record of one process: each kind of launch is written down when it is first seen, and counted from then on.

What a thread needs to count a launch it has seen before is its own, so threads share no lock there.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .counts import Counts
from .facts import Facts, Signature, kernel_facts
from .saved import Savings
from .timing import FIRST_INTERVAL, LONGEST_INTERVAL, SAMPLES, Timer, find_timer


class Kernel:
    """A kernel that is watched."""

    __slots__ = ("function", "number", "overflow", "signature", "slots")

    def __init__(self, function: Any, number: int) -> None:
        #: Kept so that its `id` is not given to another.
        self.function = function
        self.number = number
        self.signature = Signature(function)
        #: The kind that stands for all past the limit.
        self.overflow: Kind | None = None
        self.slots: dict[tuple[int, int], Slot] = {}


class Kind:
    """Launches that are alike, whatever their addresses."""

    __slots__ = ("host", "number", "samples")

    def __init__(self, number: int) -> None:
        self.number = number
        self.samples = 0
        #: Nanoseconds of host time that a launch takes; 0 before it was measured.
        self.host = 0


class Slot:
    """One kind in one thread: its counter, and after how many launches to look closely again."""

    __slots__ = ("cell", "due", "interval", "kind")

    def __init__(self, kind: Kind, cell: memoryview) -> None:
        self.kind = kind
        self.cell = cell
        self.interval = FIRST_INTERVAL
        self.due = 2


class Recorder:
    """Writes `<pid>-….jsonl` and `<pid>-….counts` in a folder, from the first launch on."""

    def __init__(self, folder: Path, *, kernels: frozenset[str] = frozenset(), limit: int, data: bool = False) -> None:
        self.folder, self.wanted, self.limit, self.data = folder, kernels, limit, data
        #: Threads whose launches belong to something that is recorded already, or to a tuner.
        self.hushed: set[int] = set()
        #: Counts the processes that this object has served: what was remembered in another is void.
        self.generation = 0
        self._tables: list[dict[int, dict[Any, Slot]]] = []
        #: What stands for each thread of this process where slots are kept with something of others.
        self.tokens: dict[int, object] = {}
        self._begin()

    def renew(self) -> None:
        """In a process that was forked: what the parent has seen is the parent's, its counters above all."""
        self.generation += 1
        self.hushed.clear()
        self.tokens.clear()
        for table in self._tables:
            table.clear()
        self._tables.clear()
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._kernels: dict[int, tuple[Any, Kernel | None]] = {}
        self._kinds: dict[str, Kind] = {}
        self._numbers = itertools.count(1)
        self._counts: Counts | None = None
        self._file = -1
        self._stem = ""
        self._timer: Timer | None = None
        self._pending: list[tuple[Kind, Any]] = []
        self._troubles: set[str] = set()
        self._savings: Savings | None = None

    def table(self) -> dict[int, dict[Any, Slot]]:
        """A table of slots by thread and key, which is emptied when the process is forked."""
        table: dict[int, dict[Any, Slot]] = {}
        self._tables.append(table)
        return table

    def meet(self, function: Any) -> Kernel | None:
        """The kernel of a jit function; None if it is not to be recorded."""
        with self._lock:
            found = self._kernels.get(id(function))
            if found is None:
                kernel = None
                try:
                    facts = kernel_facts(function)
                    if not self.wanted or facts["name"] in self.wanted:
                        kernel = Kernel(function, len(self._kernels) + 1)
                        self.write({"kind": "kernel", "id": kernel.number, **facts})
                except Exception as error:
                    self.trouble(f"a kernel could not be read: {error!r}")
                found = self._kernels[id(function)] = function, kernel
            return found[1]

    def slot(self, kernel: Kernel, named: Mapping[str, Any], grid: Any, via: str, options: Facts) -> Slot:
        """This thread's slot for a launch; a kind not seen before is written down."""
        facts = kernel.signature.launch_facts(named)
        facts |= {"grid": _extents(grid), "options": {**options, **facts["options"]}, "via": via}
        text = json.dumps({"kernel": kernel.number, **facts})
        with self._lock:
            kind = self._kinds.get(text)
            if kind is None and len(self._kinds) >= self.limit:
                kind = kernel.overflow
                if kind is None:
                    kind = kernel.overflow = Kind(next(self._numbers))
                    kind.samples = SAMPLES
                    self.write({"kind": "overflow", "id": kind.number, "kernel": kernel.number})
            elif kind is None:
                kind = self._kinds[text] = Kind(next(self._numbers))
                if self.data:
                    self._savings = self._savings or Savings(self.folder, self._stem)
                    facts["data"] = self._savings.save(kind.number, named)
                self.write({"kind": "launch", "id": kind.number, "kernel": kernel.number, **facts})
            key = threading.get_ident(), kind.number
            slot = kernel.slots.get(key)
            if slot is None:
                assert self._counts is not None
                slot = kernel.slots[key] = Slot(kind, self._counts.counter(kind.number))
            return slot

    def closely(self, slot: Slot, look: Callable[[], Slot]) -> Kind | None:
        """For a launch counted in `slot` that is to be looked at in full; its kind, if it should be timed.

        What tells kinds apart at a glance leaves out what the kernel itself does not see: shapes behind the numbers
        it is given, overlaps. If `look` finds another kind, the launch is counted there.
        """
        slot.due = slot.cell[0] + slot.interval
        slot.interval = min(2 * slot.interval, LONGEST_INTERVAL)
        try:
            found = look()
            if found is not slot:
                slot.cell[0] -= 1
                found.cell[0] += 1
            if self._timer is None:
                self._timer = find_timer()
        except Exception as error:
            self.trouble(f"a launch could not be looked at: {error!r}")
            return None
        return None if self._timer is None or found.kind.samples >= SAMPLES else found.kind

    def timed(self, kind: Kind, call: Callable[[], Any]) -> Any:
        """Makes a launch and takes its time: on the host at first, then on the device."""
        assert self._timer is not None
        token = None
        try:
            token = self._timer.begin(kind.host) if kind.host else None
        except Exception as error:
            self.trouble(f"no GPU time: {error!r}")
        start = time.perf_counter_ns()
        result = call()
        if token is None:
            kind.host = 2 * (time.perf_counter_ns() - start)
            return result
        self._timer.end(token)
        kind.samples += 1
        with self._lock:
            self._pending.append((kind, token))
            self.collect(wait=False)
        return result

    def collect(self, *, wait: bool) -> None:
        """Writes the times that are known, or with `wait` all."""
        with self._lock:
            pending, self._pending = self._pending, []
            for kind, token in pending:
                assert self._timer is not None
                microseconds = self._timer.microseconds(token, wait=wait)
                if microseconds is None:
                    self._pending.append((kind, token))
                else:
                    self.write({"kind": "time", "id": kind.number, "us": round(microseconds, 3)})

    def finish(self) -> None:
        """At the end of the process: times that are still out, and what the launcher of converted kernels counted."""
        if self._file < 0:
            return
        try:
            self.collect(wait=True)
        except Exception as error:  # the device may be lost, or gone before us
            self.trouble(f"times were lost at the end: {error!r}")
        launcher = sys.modules.get("tlx.launch.stats")
        if launcher is not None:
            for name, stats in launcher.stats().items():
                counted = {"launches": stats.launches, "fast": stats.fast, "fallbacks": dict(stats.fallbacks)}
                self.write({"kind": "stats", "kernel": name, **counted})

    def trouble(self, text: str) -> None:
        """Writes, once, what could not be recorded. The program must never fail on our account."""
        with self._lock:
            if text not in self._troubles and len(self._troubles) < 100:
                self._troubles.add(text)
                self.write({"kind": "trouble", "text": text[:1000]})

    def write(self, line: Facts) -> None:
        """Appends one line; it is with the operating system when this returns."""
        with self._lock:
            if self._file < 0:
                # Ids of processes are used again.
                self._stem = f"{os.getpid()}-{time.time_ns()}"
                self.folder.mkdir(parents=True, exist_ok=True)
                path = self.folder / f"{self._stem}.jsonl"
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
                self._counts = Counts(self.folder / f"{self._stem}.counts")
                self.write({"kind": "process", **_process(), "limit": self.limit})
            os.write(self._file, json.dumps(line).encode() + b"\n")


def _extents(grid: Any) -> list[int]:
    """The grid without the ones at its end that say nothing."""
    extents = [int(extent) for extent in (grid if isinstance(grid, tuple | list) else (grid,))]
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return extents


def _process() -> Facts:
    versions = {name: getattr(sys.modules.get(name), "__version__", None) for name in ("torch", "triton")}
    argv = list(getattr(sys, "argv", ()))
    return {"pid": os.getpid(), "argv": argv, "python": platform.python_version(), **versions}
