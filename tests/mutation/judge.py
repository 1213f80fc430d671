"""Whether a break is noticed, and if not, why that is all right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import tlx
from tlx.sim.explore import explore
from tlx.sim.report import SimulationError
from tlx.sim.schedules import Schedule

from .launches import Launch, Outcome, replaced
from .subjects import Break

SCHEDULES: tuple[Schedule, ...] = ("late", "eager", 0, 1, 2, 3)
#: further schedules on which a break that only costs time must change nothing, and how many orders are searched besides
MORE_SCHEDULES: tuple[Schedule, ...] = (4, 5, 6, 7)
ORDERS = 20


@dataclass(frozen=True, slots=True)
class Death:
    """How a break was noticed."""

    #: code of a finding; "mismatch": other results; "refused": the simulator would not run it; "missed" what the
    #: original is found to do
    by: str
    schedule: Schedule
    #: the first words of a refusal
    detail: str = ""


class Judge:
    """Runs breaks over the launches of one subject, the most telling launches first."""

    def __init__(self, launches: tuple[Launch, ...]) -> None:
        self.launches = sorted(launches, key=lambda launch: launch.steps)

    def death(self, item: Break) -> Death | None:
        """How a break is noticed, if it is."""
        with replaced(item.function, item.mutant.source):
            for schedule in SCHEDULES:
                for launch in self._running(item):
                    death = differs(launch, schedule)
                    if death is not None:
                        self.launches.remove(launch)
                        self.launches.insert(0, launch)
                        return death
        return None

    def classes(self, item: Break) -> tuple[str, ...] | Death:
        """Which reasons to survive hold, as found by running it; or how it is noticed if one looks longer."""
        if not self.reached(item):
            return ("dead-code",)
        if self.same_events(item):
            return ("equal-trace",)
        return self.longer(item) or ("speed-only",)

    def reached(self, item: Break) -> bool:
        """Whether any launch evaluates what was changed."""
        with replaced(item.function, item.mutant.trap):
            return any(_fails(launch) for launch in self._running(item))

    def same_events(self, item: Break) -> bool:
        """Whether everything that can be observed is the same, in the same order, on every schedule."""
        for launch in self._running(item):
            for schedule in SCHEDULES:
                whole = launch.original_trace(schedule)
                with replaced(item.function, item.mutant.source):
                    if launch.trace(schedule) != whole:
                        return False
        return True

    def longer(self, item: Break) -> Death | None:
        """How a break is noticed on further schedules, or in orders searched one by one on the shortest launch."""
        running = list(self._running(item))
        least = min(running, key=lambda launch: launch.steps)
        learn(running, MORE_SCHEDULES)
        known = {code for code, _ in least.original("late")[0]}
        with replaced(item.function, item.mutant.source):
            for launch in running:
                for schedule in MORE_SCHEDULES:
                    death = differs(launch, schedule)
                    if death is not None:
                        return death
            least.memory.restore()
            searched = explore(
                least.kernel, least.grid, least.args, least.kwargs, limit=ORDERS, keep_going=True, **least.options
            )
        fresh = sorted({finding.code for finding in searched.findings} - known)
        if fresh or searched.results != 1:
            return Death(fresh[0] if fresh else "mismatch", "exhaustive")
        return None

    def _running(self, item: Break) -> Iterator[Launch]:
        return (launch for launch in tuple(self.launches) if item.function.fn in launch.functions)


def differs(launch: Launch, schedule: Schedule) -> Death | None:
    """How a run of the kernel as it is now differs from the original's, which must be known."""
    found, memory = launch.known[schedule] if schedule in launch.known else _original(launch, schedule)
    try:
        now, contents = launch.run(schedule)
    except SimulationError as error:
        return Death("refused", schedule, error.message.splitlines()[0][:120])
    fresh = sorted(code for code, _ in now - found)
    if fresh:
        return Death(fresh[0], schedule)
    if found - now:
        return Death("missed", schedule)
    return Death("mismatch", schedule) if contents != memory else None


def _original(launch: Launch, schedule: Schedule) -> Outcome:
    raise LookupError(f"the original was not run under {schedule!r} before it was broken")


def learn(launches: Iterable[Launch], schedules: tuple[Schedule, ...] = SCHEDULES) -> None:
    """Runs the originals, so that breaks can be compared with them."""
    with tlx.sim.session():
        for launch in launches:
            for schedule in schedules:
                launch.original(schedule)


def _fails(launch: Launch) -> bool:
    try:
        launch.run("late")
    except SimulationError:
        return True
    return False
