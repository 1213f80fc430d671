"""Verifying a conversion on the launches of a program, instead of on those of its contract."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..conversion import Conversion
from ..verdict import Evidence, Rung, Verdict
from ..verify import verify
from ..verify.cases import Case
from ..verify.child import Job, Limits, Outcome, run_job
from ..verify.ladder import skipped_text
from ..verify.ran import run_rung
from ..verify.replay import token
from ..verify.requirements import missing_for_gpu, missing_for_simulation
from .launches import Launch
from .replay import Replay, Unreplayable, replay
from .scale import scaled


@dataclass(frozen=True, slots=True)
class Replays:
    """The launches of one kernel that can be made again, and why the others cannot."""

    made: tuple[tuple[Launch, Replay], ...]
    left: tuple[str, ...]


def replays(conversion: Conversion, launches: Sequence[Launch]) -> Replays:
    """Each launch in the terms of the conversion's contract."""
    made, left = [], []
    for launch in launches:
        try:
            made.append((launch, replay(conversion.contract, launch)))
        except Unreplayable as reason:
            left.append(f"{launch.shapes}: {reason}")
    return Replays(tuple(made), tuple(left))


def verify_captured(
    conversion: Conversion,
    launches: Sequence[Launch],
    *,
    upto: Rung,
    progress: Callable[[str], None] = lambda text: None,
    limits: Limits | None = None,
    replay: str | None = None,
) -> Verdict:
    """What can be proved of a conversion on these launches.

    The rungs are those of `verify`. Large launches are simulated scaled down (see `scale`), and run as they were.
    `replay` is the launch that a finding named: only that is simulated. Which config and element types its numbers
    mean, the record alone tells.
    """
    limits = limits or Limits()
    below = verify(conversion, upto=min(upto, Rung.PROTOCOL), progress=progress, limits=limits)
    evidence, skipped, reached = list(below.evidence), list(below.skipped), below.rung
    found = replays(conversion, launches)
    skipped += [f"a captured launch is left out: {text}" for text in found.left]
    if not found.made:
        skipped.append("no captured launch of this kernel could be made again")
        return replace(below, skipped=tuple(skipped))
    source_fails = False
    simulated = functools.partial(_simulated, replay=replay)
    for rung, step in ((Rung.SIMULATED, simulated), (Rung.COMPILED, _compiled), (Rung.RAN, _ran)):
        if rung > upto or (below.findings and rung > Rung.SIMULATED):
            break
        reason = missing_for_simulation() if rung < Rung.RAN else missing_for_gpu()
        facts = step(conversion, found, progress, limits) if reason is None else reason
        if isinstance(facts, str):
            skipped.append(facts)
            if reason is not None:
                break
            continue  # what no simulation can stand for still runs; the verdict stays below all the same
        evidence += facts
        source_fails = any(item.code == "source-fails" for item in facts)
        if source_fails or not all(item.ok for item in facts):
            break
        reached = rung if reached == rung - 1 else reached
    return Verdict(conversion.kernel, reached, tuple(evidence), source_fails, tuple(skipped))


def _groups(conversion: Conversion, found: Replays) -> list[tuple[Conversion, list[tuple[Launch, Replay]]]]:
    """Launches with one contract (element types, configs) go to one child."""
    groups: dict[object, list[tuple[Launch, Replay]]] = {}
    for launch, made in found.made:
        groups.setdefault(made.contract, []).append((launch, made))
    return [(replace(conversion, contract=group[0][1].contract), group) for group in groups.values()]


def _repeated(cases: Sequence[Case], launch: str) -> list[Case]:
    """Those of the cases that a finding's line means, each under the schedule that it names."""
    try:
        wanted = json.loads(launch)
    except ValueError:
        return []
    return [
        replace(case, schedules=(schedule,))
        for case in cases
        for schedule in case.schedules
        if json.loads(token(case, schedule)) == wanted
    ]


def _simulated(
    conversion: Conversion,
    found: Replays,
    progress: Callable[[str], None],
    limits: Limits,
    *,
    replay: str | None,
) -> list[Evidence] | str:
    outcomes = []
    small = left = 0
    for each, group in _groups(conversion, found):
        cases = [case for _, made in group if (case := scaled(made.contract, made.case)) is not None]
        if replay is not None:
            cases = _repeated(cases, replay)
            group = group[: len(cases)]
        small += sum(case.name != "captured" for case in cases)
        left += len(group) - len(cases)
        if not cases:
            continue
        outcomes.append(run_job(Job("simulate", each, Rung.SIMULATED, {"cases": cases}, limits), progress))
    findings = _findings(outcomes)
    if findings:
        return findings
    for outcome in outcomes:
        if text := str(outcome.figures.get("source_fails") or ""):
            shown = f"the source kernel itself fails: {text.splitlines()[0]}"
            return [Evidence(Rung.SIMULATED, True, "source-fails", shown, text, conversion.file, 0)]

    def total(name: str) -> int:
        return sum(int(outcome.figures.get(name, 0)) for outcome in outcomes)

    runs = f"{total('runs')} simulated launches of {total('cases')} captured ones ({small} scaled down): no finding"
    if left:
        runs += f"; {left} with a large grid of their own are left to the GPU"
    if not outcomes and replay is not None:
        return "no captured launch of this kernel is the one that is to be repeated"
    if not outcomes:
        return "nothing was simulated: every captured launch has a large grid of its own"
    if not total("compared") and total("original") and not total("specialized"):
        return "nothing was compared: every captured launch is left to the original"
    if not total("compared"):
        why = skipped_text([outcome.figures for outcome in outcomes])
        text = f"no captured launch was compared{why}"
        return [Evidence(Rung.SIMULATED, False, "vacuous", text, "", conversion.file, 1)]
    paths = f"specialized in {total('specialized')}, the original in {total('original')}"
    same = f"{total('identical')} of {total('compared')} outputs bit-identical to the source"
    facts = (("schedules", runs), ("numerics", same), ("dispatch", paths))
    return [Evidence(Rung.SIMULATED, True, code, text) for code, text in facts]


def _compiled(
    conversion: Conversion, found: Replays, progress: Callable[[str], None], limits: Limits
) -> list[Evidence] | str:
    """The configs that were launched, as the contract's rung compiles them."""
    configs = {made.contract.configs[made.case.config]: None for _, made in found.made}
    each = replace(conversion, contract=replace(conversion.contract, configs=tuple(configs)))
    outcome = run_job(Job("compiled", each, Rung.COMPILED, {"share": (0, 1)}, limits), progress)
    if outcome.findings:
        return list(outcome.findings)
    text = f"{outcome.figures.get('compiled', 0)} cubins for sm_90 of {len(configs)} captured configs"
    return [Evidence(Rung.COMPILED, True, "machine-code", text)]


def _ran(
    conversion: Conversion, found: Replays, progress: Callable[[str], None], limits: Limits
) -> list[Evidence] | str:
    evidence: list[Evidence] = []
    for each, group in _groups(conversion, found):
        ran = run_rung(each, limits, progress, cases=[made.case for _, made in group])
        if ran.skipped:
            return ran.skipped
        evidence += ran.evidence
    return evidence


def _findings(outcomes: Sequence[Outcome]) -> list[Evidence]:
    return [finding for outcome in outcomes for finding in outcome.findings]
