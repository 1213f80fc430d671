"""The ladder: each rung's work, in children where foreign code runs, and what its outcome proves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..contract import ContractFault
from ..conversion import Conversion
from ..diagnostics import Diagnostic
from ..verdict import Evidence, Rung, Verdict
from .child import Job, Limits, Outcome, run_job
from .protocol import check_protocol, worlds_of
from .ran import run_rung
from .requirements import missing_for_gpu, missing_for_simulation
from .sizing import counting
from .unlaunchable import CODE, contract_fault

#: Children that work at a time.
PROCESSES = 2
#: Launches that hypothesis draws besides the edge cases, in all children together.
DRAWN = 40

#: What to do where no launch says anything.
VACUOUS = (
    "help: say what a launch with a result is, in [tool.tlxify.contracts] of pyproject.toml: sizes, flags, and the "
    "elements that decide what a program does (`values(…)`); --show-contract prints the table as it is now"
)

Progress = Callable[[str], None]


def verify(
    conversion: Conversion,
    *,
    upto: Rung = Rung.COMPILED,
    progress: Progress | None = None,
    limits: Limits | None = None,
    timeline: str | None = None,
    replay: str | None = None,
) -> Verdict:
    """What can be proved of a conversion, up to a rung.

    Args:
        conversion: the kernel, its contract and the module to verify. The module is only ever imported in children.
        upto: the last rung to try; later rungs are tried only if the earlier ones hold.
        progress: called with one line per step, from several threads.
        limits: of each child; a child that exceeds them is a finding.
        timeline: an .html or .svg file for the picture of one simulated launch, drawn if the rung SIMULATED is tried.
        replay: the launch that a finding named: only that is simulated.

    Returns:
        The highest rung that holds with all below it, the evidence, and what was skipped for want of a requirement.
    """
    ladder = _Ladder(conversion, progress or (lambda text: None), limits or Limits(), timeline, replay)
    return ladder.climb(upto)


class _Ladder:
    def __init__(
        self, conversion: Conversion, progress: Progress, limits: Limits, timeline: str | None, replay: str | None
    ) -> None:
        self.conversion = conversion
        self.replay = replay
        self.timeline = timeline
        self.progress = progress
        self.limits = limits
        self.evidence: list[Evidence] = []
        self.skipped: list[str] = []
        self.source_fails = False

    def climb(self, upto: Rung) -> Verdict:
        reached = Rung.NONE
        missing = missing_for_simulation()
        steps: list[tuple[Rung, Callable[[], list[Evidence] | None]]] = [
            (Rung.PROTOCOL, lambda: self.protocol(ask_launcher=missing is None)),
            (Rung.SIMULATED, self.simulated),
            (Rung.COMPILED, self.compiled),
            (Rung.RAN, self.ran),
        ]
        held = True
        for rung, step in steps:
            if rung > upto:
                break
            if rung > Rung.PROTOCOL and missing is not None:
                self.skipped.append(missing)
                break
            # A broken protocol is simulated all the same: seeing what goes wrong says more than that it may.
            if not held and rung > Rung.SIMULATED:
                break
            try:
                found = step()
            except ContractFault as fault:
                found = [contract_fault(self.conversion.contract, rung, str(fault), self.conversion.file)]
            if found is None:
                break
            faults = [item for item in found if item.code == CODE]
            if faults and all(item.ok for item in found if item.code != CODE):
                # Where no launch is known there is nothing to compare: no fault of the conversion.
                self.source_fails, found = True, [replace(faults[0], ok=True)]
            elif faults:  # what the conversion did wrong in another launch stands
                found = [item for item in found if item.code != CODE]
            self.evidence += found
            held = held and all(item.ok for item in found) and not self.source_fails
            if held:
                reached = rung
        return Verdict(self.conversion.kernel, reached, tuple(self.evidence), self.source_fails, tuple(self.skipped))

    def protocol(self, *, ask_launcher: bool) -> list[Evidence]:
        """The text's barrier protocol, in the launches that the launcher would make, or in guessed ones."""
        conversion, launches = self.conversion, None
        if conversion.plain or (conversion.version is not None and not conversion.version.uses_tlx):
            return [Evidence(Rung.PROTOCOL, True, "protocol", "plain Triton: there are no barriers to get wrong")]
        why = "Triton is not here"
        if ask_launcher:
            outcome = self.jobs("launches", Rung.PROTOCOL, [{}])[0]
            if outcome.findings:
                return list(outcome.findings)
            launches = outcome.figures.get("launches") or None
            why = f"it specializes no config ({outcome.figures.get('refusal')})"
        worlds = worlds_of(conversion.contract, launches)
        found = check_protocol(
            conversion.module_text,
            conversion.file,
            worlds,
            kernel=conversion.converted,
            budgets=launches is not None,
            progress=self.progress,
        )
        if launches is None:
            self.skipped.append(f"budgets of the protocol: ring depths are the launcher's choice, and {why}")
        return list(found)

    def simulated(self) -> list[Evidence]:
        """The edge cases, dealt out to the children, and some drawn launches."""
        drawn = DRAWN // PROCESSES if self.replay is None else 0
        options = [
            {"share": (number, PROCESSES), "drawn": drawn, "replay": self.replay, "minimal": self.replay is None}
            for number in range(PROCESSES if self.replay is None else 1)
        ]
        outcomes = self.jobs("simulate", Rung.SIMULATED, options)
        # Each child shrank what it found: one launch per place is enough.
        places = {(f.code, f.line, "" if f.line else f.text): f for o in reversed(outcomes) for f in o.findings}
        findings = list(places.values())
        figures = [outcome.figures for outcome in outcomes]
        if self.timeline is not None:
            findings += self.jobs("picture", Rung.SIMULATED, [{"file": self.timeline}])[0].findings
        for message in filter(None, (figure.get("source_fails") for figure in figures)):
            self.source_fails = True
            return [self.unlaunchable(message)]
        if findings:
            return findings
        return self._simulated(figures)

    def _simulated(self, figures: list[dict[str, Any]]) -> list[Evidence]:
        def total(name: str) -> int:
            return sum(int(figure.get(name, 0)) for figure in figures)

        configs = {index for figure in figures for index in figure.get("configs", ())}
        if not configs:
            taker = "the specialized kernel" if self.conversion.version is None else "the second version"
            if unmade := next(filter(None, (figure.get("unmade") for figure in figures)), None):
                return [contract_fault(self.conversion.contract, Rung.SIMULATED, unmade, self.conversion.file)]
            text = f"no launch of the contract suits {taker}"
            if self.replay is not None:
                text = f"this launch does not suit {taker}: nothing was compared"
            return [Evidence(Rung.SIMULATED, False, "never-specialized", text, "", self.conversion.file, 1)]
        if self.replay is not None and not total("runs"):
            text = "this launch has no program that could be run: nothing was compared"
            return [Evidence(Rung.SIMULATED, False, "never-specialized", text, "", self.conversion.file, 1)]
        if self.replay is None and (text := self._vacuous(figures)):
            return [Evidence(Rung.SIMULATED, False, "vacuous", text, VACUOUS, self.conversion.file, 1)]
        runs = f"{total('runs')} simulated launches of {total('cases')} cases, {len(configs)} configs: no finding"
        identical, compared = total("identical"), total("compared")
        error, source_error = max((tuple(figure.get("worst", (0.0, 0.0))) for figure in figures), default=(0.0, 0.0))
        numerics = f"{identical} of {compared} outputs bit-identical to the source"
        numerics += f"; worst error {error:.2g} (source {source_error:.2g})"
        if unlifted := total("unlifted"):
            where = ""
            if unlifted < total("references"):
                kinds = {kind for figure in figures for kind in figure.get("unlifted_types", ())}
                kinds -= {kind for figure in figures for kind in figure.get("lifted_types", ())}
                where = f" in {unlifted} of {total('references')} launches" + "".join(f", {k}" for k in sorted(kinds))
            numerics += f"; no exact oracle{where}: the source is TLX, or rounds to integers or fp8"
            numerics += "; it alone was compared with"
        facts = [("schedules", runs), ("numerics", numerics)]
        if self.conversion.version is None:
            facts.append(
                ("dispatch", f"specialized in {total('specialized')} cases, the original in {total('original')}")
            )
        return [Evidence(Rung.SIMULATED, True, code, text) for code, text in facts]

    def _vacuous(self, figures: list[dict[str, Any]]) -> str:
        """Why equal results in all these launches say nothing; empty if they do."""
        if not any(figure.get("compared") for figure in figures):
            return f"no launch of the contract was compared{skipped_text(figures)}"
        told = {(int(config), str(name)) for figure in figures for config, name in figure.get("telling", ())}
        if not told:
            return "every result of the source is zero in every launch of the contract: equal results say nothing"
        # A lock is free before and after.
        outputs = [s.name for s in self.conversion.contract.tensors if s.writes and s.values != ("0",)]
        if silent := [name for name in outputs if all(name != other for _, other in told)]:
            names = " and ".join(silent)
            return f"no launch of the contract makes anything but zeros of {names}: equal results say nothing"
        configs = {int(index) for figure in figures for index in figure.get("owing", ())}
        if silent := [f"config {index}" for index in sorted(configs - {config for config, _ in told})]:
            return f"no launch of {' and '.join(silent)} makes anything but zeros: equal results say nothing"
        programs = max((int(figure.get("programs", 0)) for figure in figures), default=0)
        if programs == 1 and (sizes := counting(self.conversion.contract)):
            return f"no launch of the contract has a second program, although {' and '.join(sizes)} say how many"
        return ""

    def unlaunchable(self, message: str) -> Evidence:
        """What a failing source means: a fault of its own, or of the contract where nobody but us says it is valid."""
        contract, why = self.conversion.contract, message.splitlines()[0]
        if contract.origin == "inferred":
            why = f"on what was inferred it fails itself: {why}"
            return contract_fault(contract, Rung.SIMULATED, why, self.conversion.file, message)
        said = Diagnostic.of("TLX603", None, name=contract.kernel, why=why)
        text = f"{said.code} {said.message.splitlines()[0]}"
        detail = f"{message}\nhelp: {said.remedy}"
        return Evidence(Rung.SIMULATED, True, "source-fails", text, detail, self.conversion.file, 0)

    def compiled(self) -> list[Evidence]:
        """Cubins of all variants."""
        options = [{"share": (number, PROCESSES)} for number in range(PROCESSES)]
        outcomes = self.jobs("compiled", Rung.COMPILED, options)
        findings = _unique(finding for outcome in outcomes for finding in outcome.findings)
        if findings:
            return findings
        count = sum(int(outcome.figures.get("compiled", 0)) for outcome in outcomes)
        if not count:
            text = "no config was compiled: the launcher leaves all of them to the original"
            return [Evidence(Rung.COMPILED, False, "never-specialized", text, "", self.conversion.file, 1)]
        configs = {index for outcome in outcomes for index in outcome.figures.get("configs", ())}
        registers, shared = (max(int(o.figures.get(name, 0)) for o in outcomes) for name in ("registers", "shared"))
        text = f"{count} cubins for sm_90 of {len(configs)} configs: no stack"
        if self.conversion.plain:
            text += ", UTMALDG"
        elif self.conversion.version is None:
            text += ", HGMMA and UTMALDG in loops, USETMAXREG"
        text += f"; at most {registers} registers and {shared} bytes of shared memory"
        proved = [Evidence(Rung.COMPILED, True, "machine-code", text)]
        left = {config: reason for outcome in outcomes for config, reason in outcome.figures.get("left", {}).items()}
        for config, reason in sorted(left.items()):
            proved.append(Evidence(Rung.COMPILED, True, "left-to-original", f"config {config} ({reason})"))
        return proved

    def ran(self) -> list[Evidence] | None:
        """Launches on a GPU; None where there is none."""
        reason = missing_for_gpu()
        if reason is None:
            ran = run_rung(self.conversion, self.limits, self.progress)
            self.source_fails |= ran.source_fails
            reason = ran.skipped
        if reason:
            self.skipped.append(reason)
            return None
        return _unique(ran.evidence)

    def jobs(self, name: str, rung: Rung, options: list[dict[str, Any]]) -> list[Outcome]:
        """One job per entry of `options`, side by side."""
        with ThreadPoolExecutor(len(options)) as pool:
            waiting = [
                pool.submit(run_job, Job(name, self.conversion, rung, entry, self.limits), self.progress)
                for entry in options
            ]
            return [future.result() for future in waiting]


def skipped_text(figures: Iterable[dict[str, Any]]) -> str:
    """Why launches were not compared, as the end of a sentence: ": 3 contradict what the source assumes"."""
    counts: Counter[str] = Counter()
    for figure in figures:
        counts.update(figure.get("skipped", {}))
    return f": {', '.join(f'{count} {why}' for why, count in counts.most_common())}" if counts else ""


def _unique(findings: Iterable[Evidence]) -> list[Evidence]:
    """The first finding of each kind, line and text."""
    kept: dict[tuple[str, int, str], Evidence] = {}
    for finding in findings:
        kept.setdefault((finding.code, finding.line, finding.text), finding)
    return list(kept.values())
