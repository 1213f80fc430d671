"""How long compilers take for the same launches, in seconds of processor time.

    python -m benchmarks.tutorials.compile_time --bundle .tutorials --out FILE ours=PYTHON fork=OTHER_PYTHON

Each compilation starts from the kernel's Python and ends in a cubin, past Triton's cache; ptxas counts. Compilers take
turns, launch by launch, several compilations per process and several processes each. Medians are given, and minima:
what the compiler itself needs, where the machine had other work to do. The ratio is that of the minima.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .cases import CASES

#: compilations that count per process, after one that also sets LLVM up; and processes per launch and compiler
REPEAT, ROUNDS = 3, 2


def measure(python: str, ours: bool, bundle: Path, launch: str) -> list[float]:
    """Seconds of each compilation of one launch in one process.

    Raises:
        subprocess.CalledProcessError: it does not compile.
    """
    how = ["-m", "benchmarks.tutorials.build", "--ours"] if ours else [str(Path(__file__).with_name("build.py"))]
    with tempfile.TemporaryDirectory() as out:
        words = ["--tutorials", bundle / "sources", "--launches", bundle / "launches.json", "--out", out]
        words += ["--only", launch, "--repeat", REPEAT + 1]
        environment = {key: value for key, value in os.environ.items() if ours or key != "PYTHONPATH"}
        subprocess.run([python, *how, *map(str, words)], check=True, capture_output=True, env=environment)
        seconds: list[float] = json.loads((Path(out) / f"{launch}.json").read_text())["seconds"]
        return seconds[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains one of these, by commas")
    parser.add_argument("compilers", nargs="+", metavar="NAME=PYTHON")
    options = parser.parse_args()
    compilers = dict(text.split("=", 1) for text in options.compilers)
    first = next(iter(compilers))
    rows: dict[str, dict[str, Any]] = {}
    wanted = options.only.split(",")
    for name in (case.name for case in CASES if case.timed and any(part in case.name for part in wanted)):
        samples: dict[str, list[float]] = {who: [] for who in compilers}
        for _ in range(ROUNDS):
            for who, python in compilers.items():
                samples[who] += measure(python, who == first, options.bundle, name)
        seconds = {who: min(each) for who, each in samples.items()}
        medians = {who: round(statistics.median(each), 3) for who, each in samples.items()}
        ratios = {who: round(seconds[first] / each, 3) for who, each in seconds.items() if who != first}
        rows[name] = {"seconds": seconds, "median": medians, "ratio": ratios}
        print(f"{name:45}", " ".join(f"{who} {each:.2f}" for who, each in seconds.items()), ratios, flush=True)
    totals = {who: round(sum(row["seconds"][who] for row in rows.values()), 2) for who in compilers}
    summary = {who: round(totals[first] / total, 3) for who, total in totals.items() if who != first}
    print(json.dumps({"seconds": totals, "ratio": summary}))
    if options.out:
        report = {"compilations": REPEAT * ROUNDS, "total seconds": totals, "ratio": summary, "rows": rows}
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
