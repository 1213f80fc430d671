"""Launches that the tests make, written down so that they can be repeated with a broken kernel."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any
from unittest import mock

import numpy as np
from triton.runtime.jit import JITFunction

import tlx
from tlx.sim.arguments import Snapshot, tensors_in
from tlx.sim.interpreter import INTERPRETER
from tlx.sim.observer import Observer
from tlx.sim.run import run
from tlx.sim.schedules import Schedule
from tlx.sim.tensors import Allocation, allocation_at

from .observed import Events

#: what may be told apart about a run: its findings by code and line, and a digest of the memory it leaves
Outcome = tuple[frozenset[tuple[str, int]], bytes]


class Memory:
    """Everything a launch can reach, as it was before it: also what pointers in its tensors lead to."""

    def __init__(self, arguments: list[Any]) -> None:
        self.arguments = Snapshot(arguments)
        found = {id(a): a for tensor in _arrays(arguments) for a in _pointed_to(tensor)}
        known = {id(a) for a in self.arguments.allocations}
        self.behind: list[Allocation] = [a for key, a in found.items() if key not in known]
        self.saved = [a.bytes.copy() for a in self.behind]

    def restore(self) -> None:
        """Puts all contents back."""
        self.arguments.restore()
        for allocation, saved in zip(self.behind, self.saved, strict=True):
            allocation.bytes[...] = saved

    def digest(self) -> bytes:
        """A digest of all contents as they are now."""
        state = hashlib.sha256(self.arguments.digest())
        for allocation in self.behind:
            state.update(allocation.bytes.tobytes())
        return state.digest()


def _arrays(arguments: list[Any]) -> Iterator[np.ndarray]:
    for argument in arguments:
        yield from (item for item in tensors_in(argument) if isinstance(item, np.ndarray))


def _pointed_to(array: np.ndarray) -> Iterator[Allocation]:
    if array.dtype == np.int64:
        yield from (a for a in (allocation_at(int(address)) for address in array.ravel()) if a is not None)


@dataclass(slots=True, eq=False)
class Launch:
    """One call of ``tlx.sim.run``, without its schedule."""

    kernel: Any
    grid: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: dict[str, Any]
    memory: Memory
    #: what it runs, helpers included: function → jit function (whose own hash is that of all it refers to)
    functions: dict[FunctionType, JITFunction] = field(default_factory=dict)
    #: scheduling points of the late schedule
    steps: int = 0
    known: dict[Schedule, Outcome] = field(default_factory=dict)
    #: schedule → digest of all that the unbroken kernel does
    traces: dict[Schedule, bytes] = field(default_factory=dict)

    def run(self, schedule: Schedule, observer: Observer | None = None) -> Outcome:
        """Runs it from the contents it began with.

        Raises:
            SimulationError: as ``tlx.sim.run``.
        """
        self.memory.restore()
        limit = 20 * self.steps + 10_000
        report = run(
            self.kernel, self.grid, self.args, self.kwargs, schedule=schedule, observer=observer, max_steps=limit,
            **self.options,
        )  # fmt: skip
        return frozenset((finding.code, finding.site.line) for finding in report.findings), self.memory.digest()

    def original(self, schedule: Schedule) -> Outcome:
        """What the unbroken kernel does."""
        if schedule not in self.known:
            self.known[schedule] = self.run(schedule)
        return self.known[schedule]

    def trace(self, schedule: Schedule) -> bytes:
        """A digest of everything that can be observed of a run of the kernel as it is now, in order."""
        events = Events()
        self.run(schedule, events)
        return events.digest()

    def original_trace(self, schedule: Schedule) -> bytes:
        """The same of the unbroken kernel: most of what a survivor costs, and alike for all of them."""
        if schedule not in self.traces:
            self.traces[schedule] = self.trace(schedule)
        return self.traces[schedule]


def recorded(recipe: Callable[[], object]) -> list[Launch]:
    """The launches that a function makes; it is called once, and fails if the results of a launch are wrong."""
    found: list[Launch] = []

    def note(
        kernel: Any, grid: Any, args: Any = (), kwargs: Any = None, *, schedule: Any = "late", **options: Any
    ) -> Any:
        launch = Launch(
            kernel, grid, tuple(args), dict(kwargs or {}), options, Memory([*args, *(kwargs or {}).values()])
        )
        used: dict[FunctionType, JITFunction] = {}
        program = INTERPRETER.program

        def noted(jit: JITFunction) -> Any:
            used.setdefault(jit.fn, jit)
            return program(jit)

        with mock.patch.object(INTERPRETER, "program", noted):
            report = run(kernel, grid, args, kwargs, schedule=schedule, **options)
        launch.functions, launch.steps = used, report.steps
        found.append(launch)
        return report

    with mock.patch.object(tlx.sim, "run", note):
        recipe()
    return found


def source_of(jit: JITFunction) -> str:
    """The text that is compiled, not indented."""
    return textwrap.dedent("".join(jit.raw_src))


@contextmanager
def replaced(jit: JITFunction, source: str) -> Iterator[None]:
    """Runs other text in place of a jit function's, wherever it is called."""
    saved = jit.raw_src
    jit.raw_src = source.splitlines(keepends=True)
    INTERPRETER.programs.pop(jit.fn, None)
    try:
        yield
    finally:
        jit.raw_src = saved
        INTERPRETER.programs.pop(jit.fn, None)
