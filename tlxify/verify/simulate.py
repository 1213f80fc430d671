"""Rung SIMULATED: a conversion on the CPU, case by case, schedule by schedule. Only called in a child process.

A case that fails is shrunk, and what is reported of it can be replayed.
"""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..contract import ContractFault
from ..conversion import Conversion
from ..verdict import Evidence, Rung
from .buffers import Arguments, Inapplicable, Memory, make_arguments
from .cases import ONE_SCHEDULE, Case, Schedule
from .compare import Comparison, compare_memory
from .dispatch import misdirected, resolve, viewed
from .grids import grid_of
from .inputs import edge_cases
from .loading import Loaded, load
from .oracle import NoLaunch, Reference, SourceFails, backwards, last_first, reference, rests_on_order
from .replay import case_of, token
from .retiled import retiled
from .shrink import shrunk
from .sizing import own_tiles
from .tally import Tally

#: Schedules under which the last program runs first: on a GPU they run in any order.
LAST_FIRST: tuple[Schedule, ...] = ("eager", 1, 3)
#: One schedule of each kind.
TWO_ORDERS: tuple[Schedule, ...] = ("late", "eager")
#: Findings after which a run is given up: more of the same help nobody.
ENOUGH = 4


class Simulation:
    """Runs cases of one conversion."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.contract = loaded.conversion.contract
        self.version = loaded.conversion.version
        #: The schedule under which each kind of finding showed last.
        self.failed: dict[str, Schedule] = {}
        self.tally = Tally()
        self.views = self._views() if self.version is None else frozenset()

    def cases(self) -> tuple[Case, ...]:
        """The launches that are always tried."""
        cases = edge_cases(self.contract, guarded=self.version is None)
        if self.version is not None and self.version.uses_tlx and not self._stands_small_tiles(cases):
            cases = tuple(dict.fromkeys(own_tiles(self.contract, case) for case in cases))
        return cases

    def _stands_small_tiles(self, cases: Iterable[Case]) -> bool:
        """Whether a version written by hand is valid with other tiles than its own."""
        import tlx.sim

        case = next((case for case in cases if case.tiles and case.config == 0), None)
        if case is None:
            return True
        try:
            arguments = make_arguments(self.contract, case, 0)
        except Inapplicable:
            return True  # nothing is known against them
        dispatch = resolve(self.loaded, case, arguments, _tensors(arguments, case))
        try:
            tlx.sim.run(dispatch.kernel, dispatch.grid, (), dict(dispatch.kwargs))
        except tlx.sim.SimulationError:
            return False
        return True

    def _views(self) -> frozenset[str]:
        """The tensors read through descriptors on the first launch that is specialized."""
        for case in edge_cases(self.contract):
            if case.path == "specialized" and case.zeroed is None:
                try:
                    arguments = make_arguments(self.contract, case, 0)
                except (Inapplicable, ContractFault):
                    continue  # running the cases says so
                tensors = _tensors(arguments, case)
                dispatch = resolve(self.loaded, case, arguments, tensors)
                if dispatch.path == "specialized":
                    return viewed(tensors, dispatch)
        return frozenset()

    def run(self, case: Case) -> None:
        """Runs one case under its schedules; what it finds goes to the tally.

        Raises:
            ContractFault: the contract says nothing of such a launch.
        """
        try:
            arguments = make_arguments(self.contract, case, 0)
        except Inapplicable as reason:
            if case.path == "specialized":
                self.tally.unmade = self.tally.unmade or str(reason)
            self.tally.skip("cannot be laid out in memory")
            return
        except ContractFault as fault:
            if case.daring:
                return
            raise type(fault)(f"{fault}, with {case}") from None
        self.tally.cases += 1
        dispatch = resolve(self.loaded, case, arguments, _tensors(arguments, case))
        if (text := misdirected(case, arguments, dispatch, self.views, self.loaded.bound.converted)) is not None:
            self.tally.found(self._evidence("dispatch", text, case))
        if dispatch.path != "specialized":
            self.tally.original += 1  # the source itself would run: there is nothing to compare
            return
        if dispatch.grid == () or 0 in arguments.grid:
            self.tally.took(case)
            self.tally.skip("have no program")
            return
        target = case
        if case.zeroed is not None:
            target = replace(case, values=tuple({**dict(case.values), case.zeroed: 0}.items()))
        try:
            if target is not case and grid_of(self.contract, target) != arguments.grid:
                return  # of a launch with nothing in it there would be other programs, or none
            expected = reference(self.loaded.source, self.contract, target, sharing=self.version is not None)
        except NoLaunch:
            self.tally.skip("contradict what the source assumes")
            return
        except Inapplicable:
            self.tally.skip("cannot be laid out in memory")
            return
        except SourceFails as failure:
            # Where inputs and outputs overlap, a source owes nobody a result that can be told; nor where it makes
            # descriptors of what begins between two multiples of 16 bytes.
            if case.daring or any(layout in ("odd", "overlap") for _, layout in case.layouts):
                self.tally.skip("are none that the source can take")
                return
            self.tally.source_fails = self.tally.source_fails or self.loaded.shown(f"{failure} with {case}")
            return
        self.tally.took(case)
        self.tally.trips = max(self.tally.trips, expected.trips)
        self.tally.programs = max(self.tally.programs, math.prod(arguments.grid))
        self.tally.referred(arguments, exact=expected.exact is not None)
        schedules = ONE_SCHEDULE if self.loaded.conversion.plain else case.schedules
        if self.version is not None and not self.version.uses_tlx:
            schedules = TWO_ORDERS  # nothing in it is asynchronous; its programs come in any order all the same
        for number, schedule in enumerate(schedules):
            if not self._run(case, schedule, number + 3, expected):
                return

    def _run(self, case: Case, schedule: Schedule, run: int, expected: Reference) -> bool:
        """One simulated launch; False if it ended in a finding."""
        import tlx.sim

        arguments = make_arguments(self.contract, case, run)
        dispatch = resolve(self.loaded, case, arguments, _tensors(arguments, case))
        if dispatch.path != "specialized":
            reason = f"{dispatch.code}: {dispatch.text}"
            text = f"an equal launch in other memory is left to the original ({reason}): the first was specialized"
            self.tally.found(self._evidence("dispatch", text, case, schedule))
            return False
        kwargs = dict(dispatch.kwargs)
        if case.zeroed is not None:
            if case.zeroed not in kwargs:
                return True
            kwargs[case.zeroed] = 0
        self.tally.runs += 1
        try:
            report = tlx.sim.run(
                *(dispatch.kernel, dispatch.grid, (), kwargs),
                schedule=schedule,
                order=last_first if schedule in LAST_FIRST else None,
                sharing=self.version is not None,
            )
        except tlx.sim.SimulationError as error:
            line = error.site.line if error.site is not None else 0
            text = self.loaded.shown(str(error))
            code = "simulation"
            if isinstance(error, tlx.sim.EndlessError):
                code, text = "no-end", error.message
            self.tally.found(self._evidence(code, text, case, schedule, line=line))
            return False
        self.tally.fills = max(self.tally.fills, report.fills)
        for finding in report.findings:
            line = finding.site.line if finding.site.file == self.loaded.path else 0
            detail = self.loaded.shown(str(finding))
            self.tally.found(self._evidence(finding.code, finding.what, case, schedule, detail, line))
        if report.findings or not self._compare(case, arguments, expected, schedule):
            return False
        if report.clashes and not expected.clashes:
            clash = report.clashes[0]
            line = clash.site.line if clash.site.file == self.loaded.path else 0
            detail = self.loaded.shown(f"{clash.site}: {clash.what}\n  {clash.site.text}")
            text = f"one program {clash.what}, and nothing orders the two: the source's programs do no such thing"
            self.tally.found(self._evidence("program-race", text, case, schedule, detail, line))
            return False
        return True

    def _compare(self, case: Case, arguments: Arguments, expected: Reference, schedule: Schedule) -> bool:
        """Whether the outputs in `arguments` may stand."""
        trips = "" if case.trips is None else f" at {case.trips} trips of the dot loop"
        for memory in arguments.tensors.values():
            if (damage := memory.damaged()) is not None:
                self.tally.found(self._evidence("canary", damage, case, schedule))
                return False
        for name, source in expected.outputs.items():
            memory = arguments.tensors[name]
            exact = None if expected.exact is None else expected.exact[name]
            comparison = compare_memory(memory, source, exact)
            if source.tells:
                self.tally.telling.add((case.config, name))
            if comparison.mismatch is not None and source.spec.reads:
                comparison = self._in_another_order(case, memory, exact) or comparison
            self.tally.compared_with(comparison)
            if comparison.mismatch is not None:
                if (other := rests_on_order(self.loaded.source, self.contract, case, expected)) is not None:
                    # A source whose output lies in its input owes nobody a result that can be told, and of large sums
                    # in one place the order says which are out of range.
                    if case.overlaps or (case.data == "large" and source.spec.reads):
                        continue
                    text = f"{other} depends on the order of its programs, which nothing fixes with {case}"
                    self.tally.source_fails = self.tally.source_fails or self.loaded.shown(text)
                    return False
                text = f"{comparison.mismatch}{trips}"
                self.tally.found(self._evidence("mismatch", text, case, schedule, line=self._line()))
                return False
        return True

    def _in_another_order(self, case: Case, memory: Memory, exact: Any) -> Comparison | None:
        """The comparison with the source whose programs run the other way round: None if that is no better.

        Where programs add to one place, each addition rounds, and which order they come in is nobody's choice.
        """
        other = backwards(self.loaded.source, self.contract, case).tensors[memory.spec.name]
        result = compare_memory(memory, other, exact)
        return result if result.mismatch is None else None

    def _line(self) -> int:
        """The line of the converted kernel: where a mismatch is shown."""
        code = getattr(getattr(self.loaded.bound.converted, "fn", None), "__code__", None)
        return int(code.co_firstlineno) if code is not None else 0

    def shrink(self, case: Case) -> None:
        """Replaces the findings of a failed case by those of the smallest launch that fails alike."""
        tally, self.tally = self.tally, Tally()
        codes = {evidence.code for evidence in tally.findings.values()}
        schedules = tuple({self.failed[code]: None for code in codes if code in self.failed})

        def fails(smaller: Case) -> bool:
            self.tally = Tally()
            with contextlib.suppress(ContractFault):  # so small that the contract says nothing of it
                self.run(replace(smaller, schedules=schedules or case.schedules))
            return bool(codes & {evidence.code for evidence in self.tally.findings.values()})

        least = shrunk(self.contract, case, fails)
        if least != case and fails(least):
            tally.findings = dict(self.tally.findings)
        self.tally = tally

    def _evidence(
        self, code: str, text: str, case: Case, schedule: Schedule | None = None, detail: str = "", line: int = 0
    ) -> Evidence:
        conversion = self.loaded.conversion
        self.failed[code] = case.schedules[0] if schedule is None else schedule
        tried = f"with {case}" + ("" if schedule is None else f", schedule {schedule!r}")
        launch = token(case, schedule)
        command = shlex.join([*conversion.command, conversion.replaying, launch]) if conversion.command else ""
        command = command or f"tlxify.verify.verify(conversion, replay={launch!r})"
        told = "\n".join(filter(None, (detail, tried, f"replay: {command}")))
        return Evidence(Rung.SIMULATED, False, code, text.splitlines()[0], told, conversion.file, line)


def simulate(
    conversion: Conversion,
    share: tuple[int, int] = (0, 1),
    drawn: int = 0,
    progress: Callable[[str], None] = lambda text: None,
    cases: Iterable[Case] | None = None,
    enough: int = ENOUGH,
    replay: str | None = None,
    minimal: bool = False,
) -> Tally:
    """Simulates a share of the edge cases, then launches drawn at random.

    Args:
        conversion: what to verify; its module is imported and run here.
        share: (which, of how many): the cases are dealt out to so many processes.
        drawn: number of further launches that hypothesis draws.
        progress: called with a line per case.
        cases: instead of the edge cases.
        enough: findings after which no further case is begun.
        replay: the launch that a finding named, instead of all others.
        minimal: shrink the first case that fails, and end there.
    """
    np.seterr(all="ignore")  # kernels compute with infinities and NaN on purpose
    simulation = Simulation(load(conversion))
    which, of = share
    if replay is not None:
        cases = [case_of(replay, conversion.contract)]
    chosen = simulation.cases() if cases is None else cases
    todo = [case for number, case in enumerate(chosen) if number % of == which]
    for number, case in enumerate(todo, 1):
        progress(f"simulated: {number}/{len(todo)} {case.name}")
        try:
            simulation.run(case)
        except ContractFault:
            if simulation.tally.findings:
                return simulation.tally  # what the conversion did wrong before matters more
            raise
        if minimal and simulation.tally.findings:
            # Smaller launches of what does not end take as long.
            if {code for code, _, _ in simulation.tally.findings} != {"no-end"}:
                progress(f"simulated: shrinking {case.name}")
                simulation.shrink(case)
            return simulation.tally
        if simulation.tally.failed >= enough or simulation.tally.source_fails:
            return simulation.tally
    if cases is None and replay is None and which == 0:
        found = retiled(simulation.loaded.source, simulation.contract, conversion.file)
        if found is not None:
            simulation.tally.found(found)
    # Where none of the edge cases can be had, the few that can be drawn all the same would prove too little.
    unmade = simulation.tally.unmade and not simulation.tally.configs
    if drawn and not simulation.tally.findings and not unmade:
        progress(f"simulated: {drawn} drawn launches")
        _explore(simulation, drawn, which)
    return simulation.tally


def _explore(simulation: Simulation, drawn: int, which: int) -> None:
    """Runs drawn launches; a failing one is shrunk, and only the smallest is reported.

    The same ones each time, and others in each of the processes (`which`) that share the work.
    """
    from hypothesis import HealthCheck, Phase, given, seed, settings

    from .strategies import cases

    faults: list[ContractFault] = []
    phases = (Phase.generate, Phase.shrink)
    checks = list(HealthCheck)

    @seed(which)
    @settings(max_examples=drawn, deadline=None, database=None, phases=phases, suppress_health_check=checks)
    @given(cases(simulation.contract))
    def tried(case: Case) -> None:
        simulation.tally.findings.clear()
        try:
            simulation.run(case)
        except ContractFault as fault:
            faults.append(fault)
        assert not simulation.tally.findings

    # The smallest failing case runs last: the tally holds its findings.
    with contextlib.suppress(AssertionError):
        tried()
    # What the conversion does wrong matters more than a launch that there is none of.
    if faults and not simulation.tally.findings:
        raise faults[0]


def _tensors(arguments: Arguments, case: Case) -> dict[str, Any]:
    """What stands for the memory of a launch: the launcher, asked about it and then for it, sees the same addresses."""
    import tlx.sim

    # Tensors that share memory must share addresses; all others end where their elements do, as for the source.
    exact = not case.overlaps
    return {name: tlx.sim.tensor(memory.array, exact) for name, memory in arguments.tensors.items()}
