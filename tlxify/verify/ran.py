"""Rung RAN: every config in a process of its own on a GPU, and what is found there named by the simulator.

A process whose kernel hangs or reads what is not its own can use the GPU no more: it ends, and only what was left of
its own config is lost, or nothing where the source was at fault, for then another process goes on behind that case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from ..conversion import Conversion
from ..verdict import Evidence, Rung
from . import consan
from .cases import Case
from .child import Job, Limits, Outcome, run_job
from .record import Record, merge
from .requirements import missing_for_simulation

#: Processes on the GPU at a time: one compiles while another launches.
PROCESSES = 2
#: Times that a config is taken up again behind a case on which the source ended the process: one that reads through
#: descriptors of its own fails on each operand that begins at an odd address.
RESUMED = 5
#: Seconds for the simulation of one launch that went wrong.
EXPLAINED_SECONDS = 45.0
#: Findings of one rung that are simulated: others of the same code have the same cause, as a rule.
EXPLAINED = 2
#: Findings whose cause the simulator can show.
SHOWN = ("hang", "mismatch", "unstable", "illegal-access", "gpu-error", "canary")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of the rung."""

    evidence: tuple[Evidence, ...] = ()
    #: Why nothing was launched; empty if something was.
    skipped: str = ""
    #: The source fails, or its own repeats differ: not a fault of the conversion.
    source_fails: bool = False
    #: Configs that came to their end.
    finished: tuple[int, ...] = field(default=())


def run_rung(
    conversion: Conversion,
    limits: Limits,
    progress: Progress,
    repeats: int | None = None,
    cases: Sequence[Case] | None = None,
) -> Ran:
    """Launches every config of a conversion on the GPU of this machine.

    Args:
        conversion: what to verify; its module is imported in children alone.
        limits: of each child.
        progress: called with a line per case, from several threads.
        repeats: launches of each repeated case; by default as many as races need to show.
        cases: instead of the contract's own, such as captured launches; any of these may be the original's to run.
    """
    options: dict[str, Any] = {} if repeats is None else {"repeats": repeats}
    configs: Sequence[int] = range(len(conversion.contract.configs))
    if cases is not None:
        options["cases"] = list(cases)
        configs = [config for config in configs if any(case.config == config for case in cases)]
    runner = _Runner(conversion, Limits(limits.seconds, None), progress, options)
    with ThreadPoolExecutor(PROCESSES) as pool, ThreadPoolExecutor(1) as simulator, ThreadPoolExecutor(1) as beside:
        runner.simulator = simulator
        sanitized = None if not consan.wanted() else beside.submit(runner.sanitized)
        outcomes = list(pool.map(runner.config, configs))
        skipped = next((outcome for outcome in outcomes if isinstance(outcome, str)), None)
        if skipped is not None:
            return Ran(skipped=skipped)
        done = [outcome for outcome in outcomes if not isinstance(outcome, str)]
        findings = [future.result() for outcome in done for future in outcome.findings]
        extra = [] if sanitized is None else sanitized.result()
    records = [outcome.record for outcome in done]
    for outcome in done:
        # A fault in one launch leaves nothing to be said about the bits of the others.
        outcome.record.exact &= outcome.finished
    finished = tuple(config for config, outcome in zip(configs, done, strict=True) if outcome.finished)
    findings += _unfinished(conversion, configs, done)
    ran = _judged(conversion, records, findings, finished, expected=cases is None)
    return replace(ran, evidence=(*ran.evidence, *extra))


@dataclass(slots=True)
class _Config:
    """What became of one config."""

    record: Record
    findings: list[Future[Evidence]] = field(default_factory=list)
    finished: bool = True


class _Runner:
    def __init__(self, conversion: Conversion, limits: Limits, progress: Progress, options: dict[str, Any]) -> None:
        self.conversion, self.limits, self.progress, self.options = conversion, limits, progress, options
        self.simulator: ThreadPoolExecutor
        self._explained: dict[str, int] = {}

    def config(self, index: int) -> _Config | str:
        """Runs the cases of one config; why it cannot, as text."""
        done, start = _Config(Record()), 0
        for _ in range(1 + RESUMED):
            options = {**self.options, "config": index, "start": start}
            outcome = run_job(Job("gpu", self.conversion, Rung.RAN, options, self.limits), self.progress)
            if "skipped" in outcome.figures:
                return str(outcome.figures["skipped"])
            if "record" in outcome.figures:
                record = Record(**outcome.figures["record"])
                done.record = merge([done.record, record])
                resume = record.resume
            else:
                resume = None
            done.findings += [self._named(finding, index) for finding in outcome.findings]
            done.finished = not outcome.findings and resume is None
            if outcome.findings or resume is None:
                break
            start = resume
        return done

    def sanitized(self) -> list[Evidence]:
        """What Triton's concurrency sanitizer says; that it could not say anything is no finding."""
        limits = Limits(min(self.limits.seconds, consan.SECONDS), None)
        outcome = run_job(Job("consan", self.conversion, Rung.RAN, {}, limits), self.progress)
        if outcome.findings and outcome.findings[0].code == "consan":
            return list(outcome.findings)
        told = outcome.figures.get("ran") or outcome.figures.get("skipped") or outcome.findings[0].text
        text = told if "ran" in outcome.figures else f"not run: {told}"
        return [Evidence(Rung.RAN, True, "consan", text)]

    def _named(self, finding: Evidence, config: int) -> Future[Evidence]:
        """The finding with its config, and with its cause as the simulator shows it; worked out beside the GPU."""
        number, colon, detail = finding.detail.partition(": ")
        known = colon and number.isdigit()
        plain = replace(finding, text=f"config {config}: {finding.text}", detail=detail if known else finding.detail)
        count = self._explained[finding.code] = self._explained.get(finding.code, 0) + 1
        if not known or finding.code not in SHOWN or count > EXPLAINED:
            return self.simulator.submit(lambda: plain)
        return self.simulator.submit(self._explain, plain, int(number))

    def _explain(self, finding: Evidence, number: int) -> Evidence:
        if (missing := missing_for_simulation()) is not None:
            return replace(finding, detail=f"{finding.detail}\nnot simulated: {missing}")
        limits = Limits(min(self.limits.seconds, EXPLAINED_SECONDS))
        options = {"number": number, **{name: value for name, value in self.options.items() if name == "cases"}}
        outcome = run_job(Job("explain", self.conversion, Rung.RAN, options, limits), self.progress)
        return named(finding, outcome)


def named(finding: Evidence, simulated: Outcome) -> Evidence:
    """A finding of the GPU with what the simulator says about its launch."""
    what = simulated.figures.get("simulated")
    if what is None:
        told = simulated.findings[0].text if simulated.findings else "no answer"
        return replace(finding, detail=f"{finding.detail}\nnot simulated: {told}")
    if not simulated.findings:
        return replace(finding, detail=f"{finding.detail}\nsimulated {what}: no finding")
    # Who waits for what says more than that the numbers differ.
    cause = min(simulated.findings, key=lambda cause: cause.code == "mismatch")
    lines = (line.strip() for line in cause.detail.splitlines())
    roles = next((line.removeprefix("between: ") for line in lines if line.startswith("between: ")), cause.text)
    text = f"{finding.text}; simulated: {cause.code}: {roles if cause.code == 'deadlock' else cause.text}"
    return replace(
        finding,
        text=text,
        detail=f"{finding.detail}\nsimulated {what}:\n{cause.detail}",
        line=cause.line or finding.line,
    )


def _unfinished(conversion: Conversion, configs: Sequence[int], done: Sequence[_Config]) -> list[Evidence]:
    """Configs whose last cases were never launched because the source kept ending the process.

    Not those on which it never did anything else: there is nothing that the conversion must do alike.
    """
    found = []
    for config, outcome in zip(configs, done, strict=True):
        if outcome.finished or outcome.findings or not outcome.record.compared:
            continue
        failures = outcome.record.source_failures
        text = f"config {config}: the source ended {1 + RESUMED} processes, so its other cases were not launched"
        found.append(Evidence(Rung.RAN, False, "unfinished", text, "\n".join(failures), conversion.file, 1))
    return found


def _judged(
    conversion: Conversion,
    records: list[Record],
    findings: list[Evidence],
    finished: tuple[int, ...],
    *,
    expected: bool,
) -> Ran:
    total = merge(records)
    file = conversion.file
    if total.source_varies:
        text = f"the source fails on the GPU: {total.source_varies[0]}"
        told = "\n".join(total.source_varies)
        findings = [finding for finding in findings if finding.code not in ("mismatch", "unstable")]
        evidence = [Evidence(Rung.RAN, True, "source-fails", text, told, file, 1), *findings]
        return Ran(tuple(evidence), source_fails=True, finished=finished)
    facts = [Evidence(Rung.RAN, True, code, text, detail) for code, text, detail in _facts(total, records)]
    if expected and not findings and not total.specialized:
        failures = f"; {total.source_failures[0]}" if total.source_failures else ""
        text = f"no launch took the specialized kernel{failures}"
        findings = [Evidence(Rung.RAN, False, "never-specialized", text, "\n".join(total.source_failures), file, 1)]
    if silent := [f"config {index}" for index in sorted(total.configs) if index not in total.telling]:
        text = f"no launch of {' and '.join(silent)} makes anything but zeros: equal results say nothing"
        findings = findings or [Evidence(Rung.RAN, False, "vacuous", text, "", file, 1)]
    if findings:
        # What the others proved stands all the same.
        facts = facts if total.compared else []
    return Ran((*facts, *findings), finished=finished)


def _facts(total: Record, records: list[Record]) -> list[tuple[str, str, str]]:
    """Code, text and detail of what was proved."""
    stability = "as unstable as the source" if total.unstable_source else "every repeat bit-identical"
    facts = [
        ("launches", f"{total.launches} launches of {total.cases} cases, {len(total.configs)} configs on a GPU", ""),
        (
            "numerics",
            f"{total.identical} of {total.compared} outputs bit-identical to the source; "
            f"the worst differs by {total.worst:.2g}",
            "",
        ),
        ("stability", f"{total.repeats} repeats: {stability}", ""),
        ("dispatch", f"specialized in {total.specialized} launches, the original in {total.original}", ""),
    ]
    facts += [
        ("left-to-original", f"config {config} ({reason})", "")
        for config, reason in sorted(total.left.items(), key=lambda entry: int(entry[0]))
        if int(config) not in total.configs
    ]
    if total.source_failures:
        failures = len(total.source_failures)
        facts.append(("source-fails", f"the source fails in {failures} cases; {total.source_failures[0]}", ""))
    exact = [record for record in records if record.compared and record.exact and record.about]
    if exact and not total.unstable_source:
        proof = {**total.about, "configs": [entry for record in exact for entry in record.constants]}
        text = f"{len(exact)} of {len(records)} configs give the source's very bits"
        facts.append(("bitwise", text, json.dumps(proof, sort_keys=True)))
    return facts
