"""Our compiler's machine code against other compilers', from the same tutorials, in the same processes.

    python -m benchmarks.tutorials.run --bundle .tutorials --out $OUT/tutorials.json

The bundle is what ``make tutorials`` leaves: ``sources/`` (the tutorials as Meta ships them), ``launches.json`` and a
folder of machine code per other compiler. Needs a Hopper GPU, torch and Triton 3.6. First every kernel is compiled by
us, in parallel, into Triton's cache; then each case runs in a process of its own, one at a time on the GPU. One case
that fails or hangs costs its own rows only. Speed 1.02 means that ours is 2 % faster.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import triton

from .cases import CASES, Case

#: processes that compile at a time
COMPILERS = 14
#: processes that import or wait while one measures
WAITING = 4
#: what issue 3 asks of each problem and of the mean
EACH, MEAN = 0.95, 0.98
NAMES = [case.name for case in CASES]


def warm(bundle: Path, names: list[str], seconds: float) -> float:
    """Compiles the launches of these cases by our compiler. How long it took, in seconds."""
    start = time.monotonic()
    found = [launch["case"] for launch in json.loads((bundle / "launches.json").read_text())["launches"]]
    paths = ["--tutorials", bundle / "sources", "--launches", bundle / "launches.json"]

    def one(launch: str) -> None:
        with tempfile.TemporaryDirectory() as out:
            command = ["benchmarks.tutorials.build", "--ours", *paths, "--out", out, "--only", launch]
            done = subprocess.run(
                [sys.executable, "-m", *map(str, command)], capture_output=True, text=True, timeout=seconds
            )
            if done.returncode:
                print(f"{launch} does not compile:\n{done.stderr[-2000:]}", flush=True)

    with ThreadPoolExecutor(COMPILERS) as pool:
        list(pool.map(one, [launch for launch in found if launch.split(".")[0] in names]))
    return time.monotonic() - start


def run(case: Case, options: argparse.Namespace, rivals: list[str], lock: Path, end: float) -> list[dict[str, Any]]:
    """The rows of one case, failures as rows of their own.

    Whoever faults on a GPU takes the whole process along. So a case that failed among several rivals is run again with
    the first one alone.
    """
    rows = attempt(case, options, rivals, lock, end)
    if len(rivals) > 1 and any("failed" in row for row in rows):
        rows = [{**row, "among": rivals} for row in rows if "failed" in row]
        rows += attempt(case, options, rivals[:1], lock, end)
    for row in rows:
        print(line(row), flush=True)
    return rows


def attempt(case: Case, options: argparse.Namespace, rivals: list[str], lock: Path, end: float) -> list[dict[str, Any]]:
    """What one process says of a case."""
    left = end - time.monotonic()
    if left < options.limit:
        return [{"case": case.name, "failed": "no time left"}]
    paths = {"tutorials": options.bundle / "sources", "launches": options.bundle / "launches.json", "lock": lock}
    words = [word for key, path in paths.items() for word in (f"--{key}", str(path))]
    words += ["--rounds", str(options.rounds), "--limit", str(options.limit)]
    # The operands of argparse have to stand together.
    words += [case.name, *(f"{who}={options.bundle / who}" for who in rivals)]
    command = [sys.executable, "-m", "benchmarks.tutorials.child", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left)
        output, complaint, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        output, complaint, code = (late.stdout or b"").decode(), "", "no time left"
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if code:
        rows.append({"case": case.name, "failed": f"exit {code}", "log": complaint[-2000:]})
    return rows


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    where = f"{row['case']:40} {'x'.join(map(str, row.get('problem', ()))):18}"
    if "failed" in row:
        return f"{where} FAILED {row['failed']} {row.get('log', '')[-300:]}"
    checks = " ".join(
        f"{who}:{'ok' if one['right'] and one['repeats'] else 'WRONG'}({one['relative']:.1e})"
        for who, one in row["check"].items()
    )
    times = " ".join(f"{who} {ms:.4f}" for who, ms in row["ms"].items())
    speeds = " ".join(f"/{who} {one['median']:.3f} {one['interval90']}" for who, one in row["speed"].items())
    return f"{where} {times} ms  {speeds}  {checks} {row['refused'] or ''}"


def summary(rows: list[dict[str, Any]], rivals: list[str]) -> dict[str, Any]:
    """The figures that issue 3 asks for."""
    measured = [row for row in rows if "failed" not in row]
    right = [row for row in measured if row["check"]["ours"]["right"] and row["check"]["ours"]["repeats"]]
    found: dict[str, Any] = {"rows": len(rows), "measured": len(measured), "ours right": len(right)}
    for who in rivals:
        speeds = {
            f"{row['case']} {row['problem']}": row["speed"][who]["median"] for row in right if who in row["speed"]
        }
        if speeds:
            mean = math.exp(sum(map(math.log, speeds.values())) / len(speeds))
            slow = {name: speed for name, speed in speeds.items() if speed < EACH}
            found[who] = {"mean": round(mean, 4), "least": min(speeds.values()), "below": slow, "compared": len(speeds)}
            found[who]["reached"] = mean >= MEAN and not slow
    return found


def kept(out: Path, again: set[str]) -> list[dict[str, Any]]:
    """The rows of a report that is there already, without those of cases that are timed again."""
    rows = json.loads(out.read_text())["rows"] if out.exists() else []
    return [row for row in rows if row["case"] in NAMES and row["case"] not in again]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--only", default="", help="cases whose name contains this; other rows that stand in the report stay"
    )
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--limit", type=int, default=30, help="seconds that one problem may hold the GPU")
    parser.add_argument("--seconds", type=float, default=360, help="after which nothing new is started")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    cases = [case for case in CASES if case.timed and options.only in case.name]
    folders = sorted({path.parent.name for path in options.bundle.glob("*/*.cubin")})
    rivals = [name for name in folders if not name.startswith("ours")]
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "rounds": options.rounds,
        "compile seconds": round(warm(options.bundle, [case.name for case in cases], options.seconds / 2), 1),
        "rows": kept(options.out, {case.name for case in cases}),
    }
    print(f"compiled in {report['compile seconds']} s; rivals {rivals}", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WAITING) as pool:
        lock = Path(folder) / "gpu"
        for rows in pool.map(lambda case: run(case, options, rivals, lock, end), cases):
            report["rows"] = sorted([*report["rows"], *rows], key=lambda row: NAMES.index(row["case"]))
            report["summary"] = summary(report["rows"], rivals)
            options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report["summary"], indent=1))


if __name__ == "__main__":
    main()
