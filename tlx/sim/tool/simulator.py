"""Simulates every launch that it is handed under every schedule, and keeps what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..arguments import Snapshot
from ..costs import chip
from ..draw import write_picture
from ..explore import explore
from ..findings import Finding
from ..minimize import minimize
from ..recording import Recording
from ..report import Report, SimulationError
from ..run import run, unwrap_kernel
from ..schedules import Schedule
from ..timeline import timeline
from ..trace import Tracer


@dataclass(frozen=True, slots=True)
class Options:
    """How launches are simulated."""

    schedules: tuple[Schedule, ...] = ("late", "eager", 0, 1, 2, 3)
    max_ctas: int | None = None
    #: search all orders of the first CTA instead, at most so many runs
    exhaustive: int | None = None
    #: where to write the picture of the first launch, or of the first with a finding
    timeline: str | None = None
    target: str = "hopper"
    from_device: bool = False
    #: where to write the schedule of the first finding, with as few departures as can be
    record: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A finding with the launch it is of."""

    kernel: str
    #: launches are counted from 1
    launch: int
    finding: Finding
    #: schedules that showed it
    schedules: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """One launch, simulated."""

    kernel: str
    grid: tuple[int, ...]
    programs: int
    #: how many schedules ran, or different orders
    schedules: int
    events: int
    #: what an exhaustive search says
    search: str = ""
    #: whether different schedules left different contents behind
    depends_on_schedule: bool = False


class Simulator:
    """A handler of launches.

    Args:
        options: how.
        progress: told (kernel, launch, schedule, schedules in all) before each run.
    """

    def __init__(self, options: Options, progress: Callable[[str, int, int, int], None]) -> None:
        self.options = options
        self.progress = progress
        self.launches: list[Simulated] = []
        self.found: dict[Any, Found] = {}
        self.drawn = False
        #: where the schedule of the first finding was written
        self.recorded = ""

    def launch(self, kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Simulates one launch; its arguments end as the last schedule left them."""
        name = unwrap_kernel(kernel).fn.__name__
        number = len(self.launches) + 1
        if self.options.exhaustive is not None:
            self._search(name, number, kernel, grid, args, kwargs)
            return
        snapshot = Snapshot([*args, *kwargs.values()])
        states: set[bytes] = set()
        report: Report | None = None
        for index, schedule in enumerate(self.options.schedules):
            self.progress(name, number, index, len(self.options.schedules))
            snapshot.restore()
            tracer = Tracer() if self.options.timeline and index == 0 else None
            report = run(kernel, grid, args, kwargs, schedule=schedule, max_ctas=self.options.max_ctas, observer=tracer)
            states.add(snapshot.digest())
            self._keep(name, number, report.findings)
            if tracer is not None and tracer.traces:
                self._draw(name, tracer, schedule, bool(report.findings))
            if report.findings and self.options.record and not self.recorded:
                self._record(schedule, report, snapshot, kernel, grid, args, kwargs)
        if report is None:
            raise SimulationError("there is no schedule to run")
        extents = tuple(int(extent) for extent in (grid(self._bound(kernel, args, kwargs)) if callable(grid) else grid))
        ran = len(self.options.schedules)
        depends = len(states) > 1 and not any(found.launch == number for found in self.found.values())
        self.launches.append(Simulated(name, extents, report.programs, ran, report.events, "", depends))

    @staticmethod
    def _bound(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**dict(zip(unwrap_kernel(kernel).arg_names, args, strict=False)), **kwargs}

    def _search(
        self, name: str, number: int, kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        limit = self.options.exhaustive or 1
        self.progress(name, number, 0, limit)
        found = explore(
            kernel, grid, args, kwargs, limit=limit, progress=lambda runs: self.progress(name, number, runs, limit)
        )
        self._keep(name, number, found.findings)
        extents = tuple(int(extent) for extent in (grid(self._bound(kernel, args, kwargs)) if callable(grid) else grid))
        depends = found.results > 1 and found.ok
        self.launches.append(Simulated(name, extents, 1, found.orders, found.steps, str(found), depends))

    def _keep(self, name: str, number: int, findings: tuple[Finding, ...]) -> None:
        for finding in findings:
            key = (name, finding.code, finding.site, finding.other)
            known = self.found.get(key)
            if known is None:
                self.found[key] = Found(name, number, finding, 1)
            elif known.launch == number:
                self.found[key] = replace(known, schedules=known.schedules + 1)

    def _draw(self, name: str, tracer: Tracer, schedule: Schedule, faulty: bool) -> None:
        """The first launch is drawn, and replaced by the first with a finding."""
        if self.options.timeline is not None and (not self.drawn or faulty):
            picture = timeline(tracer.traces[0], chip(self.options.target), self.options.from_device)
            write_picture(self.options.timeline, picture, name, schedule)
            self.drawn = True
            if faulty:
                self.options = replace(self.options, timeline=None)

    def _record(self, schedule: Schedule, report: Report, snapshot: Snapshot, *launch: Any) -> None:
        """Writes the fewest departures that show the first finding, and puts the tensors back as they were."""
        wanted = report.findings[0]

        def again(schedule: Schedule) -> Report:
            snapshot.restore()
            return run(*launch, schedule=schedule, max_ctas=self.options.max_ctas, record=True)

        def shows(recording: Recording) -> bool:
            return wanted.code in again(recording).codes

        state = [allocation.bytes.copy() for allocation in snapshot.allocations]
        first = again(schedule).recording
        file = self.options.record
        assert first is not None
        assert file is not None
        minimize(first, shows).write(file)
        self.recorded = file
        for allocation, contents in zip(snapshot.allocations, state, strict=True):
            if allocation.bytes.flags.writeable:
                allocation.bytes[...] = contents
