"""For the tests of a TLX repository: a kernel on many schedules, and strategies for hypothesis.

    @given(launch=launches(stages=(2, 4), m=(1, 40), n=(1, 20), k=(1, 90)))
    def test_gemm(tlx_sim, launch):
        a, b, c = ...  # of launch.sizes["m"] and so on
        tlx_sim(gemm, grid, args, {..., "STAGES": launch.stages}, schedules=[launch.schedule])

Seed, stages and sizes are drawn, not the choices of a schedule: a failure shrinks in few runs to small sizes and a
schedule with a name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import Snapshot
from .costs import HOPPER
from .draw import write_picture
from .report import FindingsError, Report
from .run import run, unwrap_kernel
from .schedules import Schedule
from .timeline import timeline
from .trace import Tracer

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: the extent of a draw: smallest and largest value
Extent = tuple[int, int]


class ScheduleError(AssertionError):
    """Without a finding, the results differ from schedule to schedule."""


@dataclass(frozen=True, slots=True)
class Simulate:
    """The fixture ``tlx_sim``: a function that runs one launch under several schedules."""

    seeds: int = 4
    #: folder for the timelines of launches with findings; empty for none
    pictures: str = ""

    def __call__(
        self,
        kernel: Any,
        grid: Sequence[int] | Callable[[dict[str, Any]], Sequence[int]],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        schedules: Sequence[Schedule] | None = None,
        exact: bool = True,
        **options: Any,
    ) -> Report:
        """Runs the launch from the same contents under each schedule; returns the last report.

        Args:
            kernel, grid, args, kwargs: as for ``tlx.sim.run``.
            schedules: instead of late, eager and the seeds.
            exact: whether the results must be the same, bit for bit; not so where atomics add floats.
            options: what else ``tlx.sim.run`` takes.

        Raises:
            FindingsError: one of the schedules has findings.
            ScheduleError: the results differ.
            SimulationError: as ``tlx.sim.run``.
        """
        chosen = ("late", "eager", *range(self.seeds)) if schedules is None else tuple(schedules)
        if not chosen:
            raise ValueError("there must be a schedule")
        snapshot = Snapshot([*args, *(kwargs or {}).values()])
        first: bytes | None = None
        for schedule in chosen:
            snapshot.restore()
            report = run(kernel, grid, args, kwargs, schedule=schedule, **options)
            if report.findings:
                self._draw(report, snapshot, kernel, grid, args, kwargs, schedule, options)
                report.raise_for_findings()
            state = snapshot.digest()
            first = state if first is None else first
            if exact and state != first:
                raise ScheduleError(f"the results under schedule {schedule!r} are not those under {chosen[0]!r}")
        return report

    def _draw(self, report: Report, snapshot: Snapshot, *launch: Any) -> None:
        """The picture of the CTA of the first finding."""
        if not self.pictures:
            return
        *arguments, schedule, options = launch
        tracer = Tracer(programs=report.programs)
        snapshot.restore()
        run(*arguments, schedule=schedule, observer=tracer, **options)
        trace = next(t for t in tracer.traces if t.program == report.findings[0].program)
        folder = Path(self.pictures)
        folder.mkdir(parents=True, exist_ok=True)
        test = os.environ.get("PYTEST_CURRENT_TEST", "launch").rpartition("::")[2].removesuffix(" (call)")
        file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', test).strip('-')}.html"
        write_picture(file, timeline(trace, HOPPER), unwrap_kernel(arguments[0]).fn.__name__, schedule)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What hypothesis draws for one launch."""

    schedule: Schedule
    stages: int
    #: by name, each within its extent
    sizes: Mapping[str, int] = field(default_factory=dict)


def schedules(seeds: int = 1 << 16) -> SearchStrategy[Schedule]:
    """Schedules by name: late, eager and seeds, in the order in which failures shrink."""
    from hypothesis import strategies as st

    return st.one_of(st.sampled_from(("late", "eager")), st.integers(0, seeds - 1))


def launches(stages: Extent = (2, 4), seeds: int = 1 << 16, **sizes: Extent) -> SearchStrategy[Drawn]:
    """Schedule, stages and sizes for a launch; each shrinks to its smallest.

    Args:
        stages: smallest and largest number of stages of the ring.
        seeds: how many random schedules to draw from.
        sizes: name → smallest and largest value. To meet every trip count of a ring, let the loop reach at least
            ``2 * stages + 1`` rounds.
    """
    from hypothesis import strategies as st

    drawn = {name: st.integers(low, high) for name, (low, high) in sizes.items()}
    return st.builds(Drawn, schedules(seeds), st.integers(*stages), st.fixed_dictionaries(drawn))


__all__ = ["Drawn", "Extent", "FindingsError", "ScheduleError", "Simulate", "launches", "schedules"]
