"""One case on the GPU, in a process of its own; run.py starts it. A line of JSON per problem.

Importing happens beside other children, the GPU is taken in turn. Whoever holds it too long is ended by the kernel of
the operating system, which also ends what hangs on the GPU.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import signal
import statistics
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from . import check, host, timing
from .cases import Case, by_name
from .launches import Launch, caught, transplanted
from .record import name as variant_name

L2_BYTES = 60 * 2**20


def operand_sets(case: Case, problem: tuple[int, ...]) -> list[tuple[torch.Tensor, ...]]:
    """Enough random operands that no launch finds its own in the L2."""
    first = host.operands(case, problem, "cuda")
    size = sum(tensor.numel() * tensor.element_size() for tensor in first)
    return [first, *(host.operands(case, problem, "cuda") for _ in range(max(1, 2 * L2_BYTES // size)))]


def stems(case: Case, problem: tuple[int, ...], launches: Path, folders: dict[str, Path]) -> dict[str, Path]:
    """Where each folder keeps the machine code for this problem, if it does."""
    names = [
        launch["case"]
        for launch in json.loads(launches.read_text())["launches"]
        if launch["case"] in {variant_name(case, n) for n in range(len(case.problems))}
        and list(problem) in launch["problems"]
    ]
    (stem,) = names
    return {who: folder / stem for who, folder in folders.items() if (folder / f"{stem}.cubin").exists()}


def judge(module: Any, case: Case, tensors: tuple[torch.Tensor, ...], contenders: dict[str, Any]) -> dict[str, Any]:
    """Runs the tutorial's host function once more per contender on one operand set, twice, and compares."""
    expected = check.reference(case, tensors)
    rows, outputs = {}, {}
    for who, kernel in contenders.items():
        with caught(lambda _, kernel=kernel: kernel), check.poisoned():
            outputs[who], again = (host.call(module, case, tensors) for _ in range(2))
        torch.cuda.synchronize()
        off = check.error(outputs[who], expected)
        rows[who] = {**asdict(off), "right": off.right, "repeats": torch.equal(outputs[who], again)}
        rows[who]["equals ours"] = torch.equal(outputs[who], outputs["ours"])
    return rows


def measure(module: Any, case: Case, problem: tuple[int, ...], found: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Correctness and times of one problem."""
    sets = operand_sets(case, problem)
    with caught() as launches:
        for tensors in sets:
            host.call(module, case, tensors)
    torch.cuda.synchronize()
    assert len(launches) == len(sets), f"{len(launches)} launches for {len(sets)} calls"
    kernels: dict[str, Any] = {"ours": launches[0].kernel}
    row: dict[str, Any] = {"case": case.name, "problem": list(problem), "refused": {}}
    for who, stem in found.items():
        try:
            other = transplanted(launches[0].kernel, stem)
            # Asking for its launch loads the machine code, which a driver may be too old for.
            assert other.run is not None
            kernels[who] = other
        except (ValueError, RuntimeError) as refusal:
            row["refused"][who] = f"{type(refusal).__name__}: {refusal}"
    row["check"] = judge(module, case, sets[0], kernels)
    runs: dict[str, list[Launch]] = {
        who: [launch.through(kernel) for launch in launches] for who, kernel in kernels.items()
    }
    times = timing.interleaved(runs, rounds)
    row["ms"] = {who: round(statistics.median(each), 5) for who, each in times.items()}
    row["speed"] = {who: timing.ratio(times["ours"], each) for who, each in times.items() if who != "ours"}
    row["resources"] = {
        who: {"registers": kernel.n_regs, "spills": kernel.n_spills, "shared": kernel.metadata.shared}
        for who, kernel in kernels.items()
    }
    return row


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--tutorials", type=Path, required=True)
    parser.add_argument("--launches", type=Path, required=True)
    parser.add_argument("--lock", type=Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--limit", type=int, required=True, help="seconds per problem")
    parser.add_argument("folders", nargs="*", metavar="NAME=FOLDER")
    return parser


def main() -> None:
    options = arguments().parse_args()
    case = by_name(options.case)
    folders = {who: Path(folder) for who, folder in (text.split("=", 1) for text in options.folders)}
    module = host.load(options.tutorials / case.file)
    host.pick(getattr(module, case.kernel), case)
    with options.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for problem in case.problems:
            signal.alarm(options.limit)
            try:
                torch.manual_seed(0)
                found = stems(case, problem, options.launches, folders)
                row = measure(module, case, problem, found, options.rounds)
            except Exception as failure:
                traceback.print_exc()
                row = {"case": case.name, "problem": list(problem), "failed": f"{type(failure).__name__}: {failure}"}
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
        signal.alarm(0)


if __name__ == "__main__":
    main()
