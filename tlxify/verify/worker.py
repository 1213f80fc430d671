"""The child's side: reads one job, does it, writes JSON lines. Run as `python -m tlxify.verify.worker PARENT`."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TextIO

from ..contract import ContractFault
from ..verdict import Evidence
from .child import Job
from .lifeline import hold
from .unlaunchable import contract_fault

#: Frames of a traceback that are shown: the innermost say what happened.
_FRAMES = 6


def main() -> None:
    """Does the job on standard input, as long as the process lives that the argument names."""
    # What the kernel's module prints must not mix with the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job: Job = pickle.load(sys.stdin.buffer)
    hold(int(sys.argv.pop()), job.limits.seconds)
    if job.limits.memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (job.limits.memory, job.limits.memory))

    report = Report(answer)
    try:
        figures, findings = _work(job.name)(job, report)
    except ContractFault as fault:
        figures, findings = {}, [contract_fault(job.conversion.contract, job.rung, str(fault), job.conversion.file)]
    except (Exception, SystemExit) as error:
        detail = "".join(traceback.format_exception(error)[-_FRAMES:])
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
        figures, findings = {}, [Evidence(job.rung, False, "crash", text, detail, job.conversion.file, 1)]
    report.result(figures, findings)
    answer.close()
    os._exit(0)  # threads and exit handlers of foreign code have no say


def _work(name: str) -> Callable[[Job, Report], Result]:
    """The function behind a job: one of this module's, or "module:function" of a package that has jobs of its own."""
    if name in JOBS:
        return JOBS[name]
    module, _, function = name.partition(":")
    found: Callable[[Job, Report], Result] = getattr(importlib.import_module(module), function)
    return found


Result = tuple[dict[str, Any], list[Evidence]]


class Report:
    """What the child tells its parent: lines of JSON."""

    def __init__(self, answer: TextIO) -> None:
        self._answer = answer

    def __call__(self, text: str) -> None:
        """Tells of progress."""
        self._say({"progress": text})

    def partial(self, figures: dict[str, Any], findings: list[Evidence]) -> None:
        """Tells what is known so far: it counts if nothing more comes."""
        self._say({"partial": {"figures": figures, "findings": [asdict(finding) for finding in findings]}})

    def result(self, figures: dict[str, Any], findings: list[Evidence]) -> None:
        """Tells the end of the job."""
        self._say({"result": {"figures": figures, "findings": [asdict(finding) for finding in findings]}})

    def _say(self, message: dict[str, Any]) -> None:
        self._answer.write(json.dumps(message) + "\n")
        self._answer.flush()


def launches(job: Job, progress: Report) -> Result:
    """The constexprs of each config as the launcher derives them, for the protocol check."""
    from .compiled import launch_constants

    found, refusal = launch_constants(job.conversion)
    return {"launches": found, "refusal": refusal}, []


def simulate(job: Job, progress: Report) -> Result:
    """A share of the simulated launches."""
    from .simulate import simulate as run

    tally = run(job.conversion, progress=progress, **job.options)
    figures = {
        "cases": tally.cases,
        "runs": tally.runs,
        "configs": sorted(tally.configs),
        "owing": sorted(tally.owing),
        "specialized": tally.specialized,
        "original": tally.original,
        "identical": tally.identical,
        "compared": tally.compared,
        "worst": list(tally.worst),
        "references": tally.references,
        "unlifted": tally.unlifted,
        "lifted_types": sorted(tally.lifted_types),
        "unlifted_types": sorted(tally.unlifted_types),
        "trips": tally.trips,
        "fills": tally.fills,
        "telling": sorted(tally.telling),
        "programs": tally.programs,
        "source_fails": tally.source_fails,
        "unmade": tally.unmade,
        "skipped": tally.skipped,
    }
    return figures, list(tally.findings.values())


def compiled(job: Job, progress: Report) -> Result:
    """A share of the compiled variants."""
    from .compiled import compile_variants

    built = compile_variants(job.conversion, progress=progress, **job.options)
    figures = {
        "compiled": built.compiled,
        "configs": sorted(built.configs),
        "left": {str(config): reason for config, reason in built.left.items()},
        "registers": built.registers,
        "shared": built.shared,
    }
    return figures, built.findings


def gpu(job: Job, progress: Report) -> Result:
    """The launches of one config on a GPU. What ran is told after each case: the process may not live to its end."""
    from .gpu import run_on_gpu

    def partial(record: Any, findings: list[Evidence]) -> None:
        progress.partial({"record": asdict(record)}, findings)

    record, findings = run_on_gpu(job.conversion, progress=progress, partial=partial, **job.options)
    return ({"skipped": record} if isinstance(record, str) else {"record": asdict(record)}), findings


def consan(job: Job, progress: Report) -> Result:
    """One launch under Triton's concurrency sanitizer."""
    from .consan import run_consan

    figures, findings = run_consan(job.conversion, progress)
    return dict(figures), findings


def explain(job: Job, progress: Report) -> Result:
    """What the simulator says about one launch on a GPU."""
    from .explain import explain as run

    simulated, findings = run(job.conversion, progress=progress, **job.options)
    return {"simulated": simulated}, findings


def picture(job: Job, progress: Report) -> Result:
    """The timeline of one launch."""
    from .picture import draw

    return {"drawn": draw(job.conversion, **job.options)}, []


JOBS: dict[str, Callable[[Job, Report], Result]] = {
    "launches": launches,
    "simulate": simulate,
    "compiled": compiled,
    "gpu": gpu,
    "consan": consan,
    "explain": explain,
    "picture": picture,
}

if __name__ == "__main__":
    main()
