"""From a record to a profile: floors from the analyses, fallbacks from the generated guards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..bench.roofline import H200, Ceilings
from ..bench.sizes import sizes_of
from ..bench.work import work_of
from ..contract import Contract
from ..facts import Facts
from ..job import Unreadable, converted
from ..outcome import KernelOutcome
from ..pipeline import analyze
from ..source import SourceFile
from ..verdict import Rung
from ..verify.child import Job, Limits, run_job
from ..verify.requirements import missing_for_simulation
from .advice import advice
from .launches import Capture, KernelId, Launch
from .profile import Fallback, Profile
from .replay import Unreplayable, replay

GUARD = "tlxify.capture.guarding:resolve"
#: The share of the floor that converted kernels reach: the median over the shapes measured on an H200.
ATTAINED = 0.69
#: No prediction says more: three in four measured conversions gain less.
LARGEST_GAIN = 1.5


def profile(
    capture: Capture,
    *,
    ceilings: Ceilings = H200,
    progress: Callable[[str], None] = lambda text: None,
    limits: Limits | None = None,
) -> tuple[Profile, ...]:
    """Every kernel of a record, the one with the most GPU time first.

    Sources are read where the program had them, and never run; only the guards of conversions are, in a child.
    """
    kernels: dict[KernelId, list[Launch]] = {}
    for launch in capture.launches:
        kernels.setdefault(launch.kernel, []).append(launch)
    rows = []
    for kernel, launches in kernels.items():
        progress(kernel.name)
        rows.append(_profiled(kernel, launches, ceilings, limits or Limits()))
    for kernel, count in capture.overflow.items():
        rows.append(Profile(kernel, count, 0, None, None, None, None, "past the limit of the record: counted only"))
    total = sum(row.microseconds or 0.0 for row in rows)
    if total:
        rows = [row if row.microseconds is None else replace(row, share=row.microseconds / total) for row in rows]
    return tuple(sorted(rows, key=lambda row: (-(row.microseconds or 0.0), -row.launches)))


def _profiled(kernel: KernelId, launches: Sequence[Launch], ceilings: Ceilings, limits: Limits) -> Profile:
    times = [_time(launch) for launch in launches if launch.times]
    row = Profile(
        kernel=kernel,
        launches=sum(launch.launches for launch in launches),
        kinds=len(launches),
        microseconds=sum(times) if times else None,
        share=None,
        floor_share=None,
        saving=None,
        state="",
    )
    outcome, facts, why = _source(kernel)
    if outcome is None:
        return replace(row, state=why)
    state: str = outcome.verdict_word
    if outcome.diagnostics:
        state = f"{outcome.diagnostics[0].code} {outcome.diagnostics[0].message}"
    row = replace(row, state=state)
    if outcome.contract is None or facts is None:
        return replace(row, saving=0.0)
    floors = [_floor(outcome, facts, launch, ceilings) for launch in launches]
    timed = [(launch, floor) for launch, floor in zip(launches, floors, strict=True) if floor and launch.times]
    if timed:
        floor = sum(floor * launch.launches for launch, floor in timed)
        row = replace(row, floor_share=floor / sum(_time(launch) for launch, _ in timed))
    if outcome.conversion is None:
        return replace(row, saving=0.0)
    fallbacks = _fallbacks(outcome, launches, limits)
    saving = sum(
        launch.launches * _saved(_time(launch) / launch.launches, floor)
        for launch, floor, fallback in zip(launches, floors, fallbacks, strict=True)
        if floor and launch.times and fallback is None
    )
    return replace(row, saving=saving if timed else None, fallbacks=tuple(filter(None, fallbacks)))


def _time(launch: Launch) -> float:
    return launch.launches * (launch.microseconds or 0.0)


def _saved(time: float, floor: float) -> float:
    """What a conversion is predicted to save of one launch."""
    return max(0.0, time - max(floor / ATTAINED, time / LARGEST_GAIN))


def _source(kernel: KernelId) -> tuple[KernelOutcome | None, Facts | None, str]:
    """What converting the kernel comes to, what is known of it, and why nothing is."""
    path = Path(kernel.file)
    if not path.is_file():
        return None, None, f"its source {kernel.file} is not here"
    try:
        conversion = converted(path, (kernel.name,), "auto")
        outcome = next((item for item in conversion.kernels if item.name == kernel.name), None)
        if outcome is None:
            found = conversion.diagnostics
            return None, None, f"{found[0].code} {found[0].message}" if found else f"no kernel {kernel.name} there"
        analysis = analyze(SourceFile(str(path), conversion.source.text), kernel.name)[0]
    except Unreadable as error:
        return None, None, str(error)
    except Exception as error:  # a fault of ours in one kernel must not hide the others
        return None, None, f"could not be analysed: {error}"
    contract = outcome.contract or analysis.contract
    return replace(outcome, contract=contract), analysis.facts, ""


def _floor(outcome: KernelOutcome, facts: Facts, launch: Launch, ceilings: Ceilings) -> float | None:
    """The shortest time of one launch in microseconds, if the contract says what it does."""
    assert outcome.contract is not None
    try:
        made = replay(outcome.contract, launch)
        return ceilings.floor(work_of(made.contract, facts, sizes_of(made.contract, made.case)))
    except (Unreplayable, KeyError, ValueError):
        return None


def _fallbacks(outcome: KernelOutcome, launches: Sequence[Launch], limits: Limits) -> list[Fallback | None]:
    """What the guard says of each launch; nothing where Triton is not installed."""
    if outcome.conversion is None or missing_for_simulation() is not None:
        return [None] * len(launches)
    asked = [(launch, _config(launch, outcome.conversion.contract)) for launch in launches]
    job = Job(GUARD, outcome.conversion, Rung.NONE, {"launches": asked}, limits)
    told = run_job(job, lambda text: None).figures.get("dispatches", [["specialized", "", ""]] * len(launches))
    found: list[Fallback | None] = []
    for launch, (path, code, text) in zip(launches, told, strict=True):
        time = _time(launch) if launch.times else None
        fallback = Fallback(code, text, advice(code, text, launch), launch.shapes, launch.launches, time)
        found.append(None if path == "specialized" else fallback)
    return found


def _config(launch: Launch, contract: Contract) -> dict[str, object]:
    """What was set by a tuner or the call in this launch; the contract's first config if the record does not tell."""
    first = contract.configs[0]
    names = {name for config in contract.configs for name, _ in config.values}
    config = {name: value for name, value in launch.scalars if name in names} or dict(first.values)
    options = {name: value for name, value in launch.options if name in ("num_warps", "num_stages")}
    return {**config, **(options or {"num_warps": first.num_warps, "num_stages": first.num_stages})}
