"""The child's side: reads one job, does it, writes JSON lines. Run as `python -m tlxify.verify.worker`."""

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
from typing import Any

from ..verdict import Evidence
from .child import Job

#: Frames of a traceback that are shown: the innermost say what happened.
_FRAMES = 6


def main() -> None:
    """Does the job on standard input."""
    # What the kernel's module prints must not mix with the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job: Job = pickle.load(sys.stdin.buffer)
    if job.limits.memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (job.limits.memory, job.limits.memory))

    def say(message: dict[str, Any]) -> None:
        answer.write(json.dumps(message) + "\n")
        answer.flush()

    try:
        figures, findings = _work(job.name)(job, lambda text: say({"progress": text}))
    except (Exception, SystemExit) as error:
        detail = "".join(traceback.format_exception(error)[-_FRAMES:])
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
        figures, findings = {}, [Evidence(job.rung, False, "crash", text, detail, job.conversion.file, 1)]
    say({"result": {"figures": figures, "findings": [asdict(finding) for finding in findings]}})
    answer.close()
    os._exit(0)  # threads and exit handlers of foreign code have no say


def _work(name: str) -> Callable[[Job, Callable[[str], None]], Result]:
    """The function behind a job: one of this module's, or "module:function" of a package that has jobs of its own."""
    if name in JOBS:
        return JOBS[name]
    module, _, function = name.partition(":")
    found: Callable[[Job, Callable[[str], None]], Result] = getattr(importlib.import_module(module), function)
    return found


Result = tuple[dict[str, Any], list[Evidence]]


def launches(job: Job, progress: Callable[[str], None]) -> Result:
    """The constexprs of each config as the launcher derives them, for the protocol check."""
    from .compiled import launch_constants

    found, refusal = launch_constants(job.conversion)
    return {"launches": found, "refusal": refusal}, []


def simulate(job: Job, progress: Callable[[str], None]) -> Result:
    """A share of the simulated launches."""
    from .simulate import simulate as run

    tally = run(job.conversion, progress=progress, **job.options)
    figures = {
        "cases": tally.cases,
        "runs": tally.runs,
        "configs": sorted(tally.configs),
        "specialized": tally.specialized,
        "original": tally.original,
        "identical": tally.identical,
        "compared": tally.compared,
        "worst": list(tally.worst),
        "unlifted": tally.unlifted,
        "source_fails": tally.source_fails,
    }
    return figures, list(tally.findings.values())


def compiled(job: Job, progress: Callable[[str], None]) -> Result:
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


def gpu(job: Job, progress: Callable[[str], None]) -> Result:
    """The launches on a GPU."""
    from .gpu import run_on_gpu

    return run_on_gpu(job.conversion, progress=progress, **job.options)


def picture(job: Job, progress: Callable[[str], None]) -> Result:
    """The timeline of one launch."""
    from .picture import draw

    return {"drawn": draw(job.conversion, **job.options)}, []


JOBS: dict[str, Callable[[Job, Callable[[str], None]], Result]] = {
    "launches": launches,
    "simulate": simulate,
    "compiled": compiled,
    "gpu": gpu,
    "picture": picture,
}

if __name__ == "__main__":
    main()
