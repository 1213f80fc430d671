"""The child process: runs the user's file with its launches simulated, and reports on a pipe of its own.

Started as ``python -m tlx.sim.tool.worker FD PARENT``; the job comes as one line of JSON on standard input.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import runpy
import sys
import tokenize
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..patches import installed
from ..report import SimulationError
from ..schedules import parse
from ..sites import Site
from .contract import NAME, Contract, in_module, prepare
from .launches import caught
from .lifeline import hold
from .messages import error_data, finding_data, launch_data
from .no_gpu import redirected
from .simulator import Options, Simulator

Send = Callable[[dict[str, Any]], None]


class Unusable(Exception):
    """The file cannot be simulated; the text says why."""


def main() -> None:
    """Runs the job that is read from standard input."""
    pipe = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    job = json.loads(sys.stdin.readline())
    hold(int(sys.argv[2]), job["seconds"])

    def send(message: dict[str, Any]) -> None:
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()

    if job["memory"]:
        with suppress(ValueError, OSError):  # some systems refuse
            resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    with suppress(BrokenPipeError):
        _run(job, send)


def _run(job: dict[str, Any], send: Send) -> None:
    options = Options(
        schedules=tuple(parse(schedule) for schedule in job["schedules"]),
        max_ctas=job["max_ctas"],
        exhaustive=job["exhaustive"],
        timeline=job["timeline"],
        target=job["target"],
        from_device=job["from_device"],
        record=job["record"],
    )

    def progress(kernel: str, launch: int, schedule: int, schedules: int) -> None:
        send({"progress": [kernel, launch, schedule, schedules]})

    simulator = Simulator(options, progress)
    error: Any = None
    try:
        _simulate(job, simulator)
    except Unusable as reason:
        error = error_data(str(reason))
    except SimulationError as reason:
        error = error_data(reason.message, reason.site)
    except SystemExit as exit:
        if exit.code not in (None, 0):
            error = error_data(f"the program ended with status {exit.code}")
    except BaseException as reason:  # a user's program may raise anything
        error = error_data(f"the program raised {type(reason).__name__}: {reason}", _where(reason, job["file"]))
        traceback.print_exc()
    if error is None and not simulator.launches:
        error = error_data("the file launched no kernel: give a contract (--kernel), or launch from main()")
    send(
        {
            "launches": [launch_data(launch) for launch in simulator.launches],
            "findings": [finding_data(found) for found in simulator.found.values()],
            "drawn": simulator.drawn,
            "recorded": simulator.recorded,
            "error": error,
        }
    )


def _simulate(job: dict[str, Any], simulator: Simulator) -> None:
    """By a contract given with the job, those of the file, its main block, or its ``main()``."""
    file = job["file"]
    with_torch = "torch" in Path(file).read_text(encoding="utf-8", errors="replace")
    sys.argv = [file, *job["argv"]]
    sys.path.insert(0, str(Path(file).resolve().parent))
    with redirected(with_torch), caught(simulator.launch):
        if job["contract"] is not None:
            module = runpy.run_path(file, run_name="__tlx_sim__")
            _contracts([Contract(**job["contract"])], module, simulator)
            return
        if not job["argv"] and _declares(file):
            module = runpy.run_path(file, run_name="__tlx_sim__")
            _contracts(_declared(module), module, simulator)
            return
        before = len(simulator.launches)
        module = runpy.run_path(file, run_name="__main__")
        if len(simulator.launches) == before and callable(module.get("main")):
            module["main"]()


def _declares(file: str) -> bool:
    """Whether the file sets the list of contracts at its top level; its text tells, so that nothing runs twice."""
    with tokenize.open(file) as source:
        tree = ast.parse(source.read(), file)
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(target, ast.Name) and target.id == NAME for target in targets)


def _declared(module: dict[str, Any]) -> list[Contract]:
    try:
        return in_module(module)
    except ValueError as error:
        raise Unusable(str(error)) from None


def _contracts(contracts: list[Contract], module: dict[str, Any], simulator: Simulator) -> None:
    for contract in contracts:
        try:
            launch = prepare(contract, module)
        except ValueError as error:
            raise Unusable(f"{contract.kernel}: {error}") from None
        with installed():
            simulator.launch(launch.kernel, launch.grid, (), launch.kwargs)


def _where(error: BaseException, file: str) -> Site | None:
    """The innermost line of the user's file."""
    site, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            site = Site(file, trace.tb_lineno)
        trace = trace.tb_next
    return site


if __name__ == "__main__":
    main()
