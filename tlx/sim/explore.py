"""Every order in which the tasks and operations of one CTA can run, each once.

Two orders are equivalent if one becomes the other by swapping neighbouring independent steps (see ``footprint``): no
kernel can tell them apart. The search is dynamic partial-order reduction with source sets and sleep sets (Abdulla,
Aronis, Jonsson and Sagonas, "Optimal dynamic partial order reduction", POPL 2014): a run is followed by others only
where two of its steps clashed and might have come the other way round, and a sleep set stops a run as soon as it can
only repeat an earlier one. So a kernel whose barriers order everything has one order, however long it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .arguments import Snapshot
from .findings import Finding
from .footprint import Footprint, Step, Watcher
from .recording import candidates
from .run import run
from .scheduler import Halt

Runner = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Exploration:
    """What a search found."""

    #: orders run to their end; no two of them are equivalent
    orders: int
    #: runs cut short because they could only repeat an order
    cut: int
    #: whether there are no other orders
    complete: bool
    #: how many different contents the tensors of the launch ended with
    results: int
    #: steps of the longest order
    steps: int
    #: what was found, with the recording that replays it
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __str__(self) -> str:
        orders = "1 order" if self.orders == 1 else f"{self.orders} different orders"
        extent = "all there are" if self.complete else "there are more"
        results = "1 result" if self.results == 1 else f"{self.results} different results"
        found = "no findings" if self.ok else f"{len(self.findings)} findings"
        return f"{orders} of up to {self.steps} steps ({extent}), {results}, {found}"


@dataclass(slots=True)
class _Node:
    """A choice of the run being made, and what is still to be tried there."""

    enabled: list[Runner]
    #: runners whose next step was tried here or before, and nothing since depends on it
    sleep: dict[Runner, Footprint]
    taken: Runner
    #: runners to try, and those tried with what their step touched
    wanted: set[Runner] = field(default_factory=set)
    tried: dict[Runner, Footprint] = field(default_factory=dict)


class _Redundant(Halt):
    """Everything that could go on now was tried in an equivalent place."""


class Search:
    """The state of a search: the path of choices of the latest run."""

    def __init__(self) -> None:
        self.path: list[_Node] = []

    def picker(self, watcher: Watcher) -> _Follow:
        """Makes the choices of the next run, which ``watcher`` must observe."""
        return _Follow(self, watcher)

    def learn(self, watcher: Watcher, fresh: int) -> None:
        """Notes where the run should have gone another way; choices before ``fresh`` were those of an earlier run."""
        steps = watcher.steps
        for node, step in zip(self.path, steps, strict=False):
            node.tried[node.taken] = step.footprint
        before: list[int] = []
        for index, step in enumerate(steps):
            before.append(self._races(steps, before, index, step, learn=index >= fresh))
        for runner, footprint in watcher.blocked.items():
            last = max((index for index, step in enumerate(steps) if step.runner == runner), default=-1)
            waiting = Step(runner, (last,) if last >= 0 else (), footprint)
            self._races([*steps, waiting], before, len(steps), waiting, learn=True)

    def _races(self, steps: list[Step], before: list[int], index: int, step: Step, learn: bool) -> int:
        """The steps that happen before this one, as bits; asks for the other order of every race it is in."""
        happened = 0
        for earlier in step.after:
            happened |= before[earlier] | 1 << earlier
        for earlier in range(index - 1, -1, -1):
            if happened >> earlier & 1 or not steps[earlier].footprint.clashes(step.footprint):
                continue
            if learn and steps[earlier].footprint.reversible(step.footprint):
                self._want(steps, before, earlier, index, happened)
            happened |= before[earlier] | 1 << earlier
        return happened

    def _want(self, steps: list[Step], before: list[int], first: int, second: int, happened: int) -> None:
        """Has ``second`` tried before ``first``: some runner that can start what leads to it goes in its place."""
        leading = [k for k in range(first + 1, second) if not before[k] >> first & 1]
        mask = sum(1 << k for k in leading)
        initials = {steps[k].runner for k in leading if not before[k] & mask}
        if not happened & mask:
            initials.add(steps[second].runner)
        node = self.path[first]
        if initials & (node.wanted | node.tried.keys()):
            return
        able = [runner for runner in node.enabled if runner in initials]
        node.wanted.update(able[:1] or node.enabled)

    def next(self) -> bool:
        """Shortens the path to the latest choice with something left to try; False when there is none."""
        while self.path:
            node = self.path[-1]
            left = [r for r in node.enabled if r in node.wanted and r not in node.tried and r not in node.sleep]
            if left:
                node.taken = left[0]
                return True
            self.path.pop()
        return False


class _Follow:
    """The picker of one run: the path first, then always the first candidate that does not sleep."""

    fine = True

    def __init__(self, search: Search, watcher: Watcher) -> None:
        self.path = search.path
        self.watcher = watcher
        self.depth = 0
        #: whether the run was cut short because it could only repeat another
        self.redundant = False

    def interrupts(self, in_flight: int) -> bool:
        """Every scheduling point is a choice."""
        return True

    def pick(self, agents: Sequence[Any], operations: Sequence[Any], current: Any) -> Any:
        """As the path says, or a new choice at its end."""
        self.watcher.close()
        names = {self.watcher.names[who]: who for who in candidates(agents, operations, current, True)}
        if self.depth == len(self.path):
            sleep = self._sleep()
            awake = [runner for runner in names if runner not in sleep]
            if not awake:
                self.redundant = True
                raise _Redundant
            self.path.append(_Node(list(names), sleep, awake[0]))
        taken = self.path[self.depth].taken
        self.depth += 1
        return names[taken]

    def _sleep(self) -> dict[Runner, Footprint]:
        """Who still sleeps after the latest step: those that slept or were tried there and do not depend on it."""
        if not self.path:
            return {}
        node, step = self.path[-1], self.watcher.steps[-1]
        asleep = {**node.sleep, **node.tried}
        asleep.pop(node.taken, None)
        return {runner: left for runner, left in asleep.items() if not step.footprint.disturbs(left)}


def explore(
    kernel: Any,
    grid: Sequence[int] | Callable[[dict[str, Any]], Sequence[int]],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    program: tuple[int, int, int] = (0, 0, 0),
    limit: int = 10_000,
    keep_going: bool = False,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Exploration:
    """Runs one CTA of a launch in every order there is, up to equivalence; for small kernels and few steps.

    The tensors of the launch end with the contents of the last order.

    Args:
        kernel, grid, args, kwargs: as for ``run``.
        program: which CTA.
        limit: runs after which the search stops.
        keep_going: go on after an order with findings.
        progress: told the number of runs so far.
        options: what else ``run`` takes.

    Raises:
        SimulationError, TypeError: as ``run``.
    """
    snapshot = Snapshot([*args, *(kwargs or {}).values()])
    search = Search()
    orders = cut = longest = runs = fresh = 0
    results: set[bytes] = set()
    found: dict[Any, Finding] = {}
    complete = False
    while not complete and runs < limit:
        snapshot.restore()
        watcher = Watcher()
        picker = search.picker(watcher)
        options |= {"schedule": picker, "observer": watcher, "record": True, "order": lambda programs: [program]}
        report = run(kernel, grid, args, kwargs, **options)
        watcher.close()
        runs += 1
        search.learn(watcher, fresh)
        if picker.redundant:
            cut += 1
        else:
            orders += 1
            longest = max(longest, len(watcher.steps))
            results.add(snapshot.digest())
        for finding in report.findings:
            named = replace(finding, schedule=str(report.recording))
            found.setdefault((finding.code, finding.site, finding.other), named)
        if progress is not None:
            progress(runs)
        if found and not keep_going:
            break
        complete = not search.next()
        fresh = len(search.path) - 1
    return Exploration(orders, cut, complete, len(results), longest, tuple(found.values()))
