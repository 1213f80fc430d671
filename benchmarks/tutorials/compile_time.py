"""How long compilers take for the same launches: seconds of processor time, median of five compilations each.

    python -m benchmarks.tutorials.compile_time --bundle .tutorials --out FILE ours=PYTHON fork=OTHER_PYTHON

Each compilation starts from the kernel's Python and ends in a cubin, past Triton's cache; ptxas counts. The compilers
take turns, launch by launch. A process's first compilation also sets LLVM up; the median leaves it out.
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

#: the first name on the command line is our compiler
REPEAT = 5


def measure(python: str, ours: bool, bundle: Path, launch: str) -> float:
    """Seconds for one launch by one compiler.

    Raises:
        subprocess.CalledProcessError: it does not compile.
    """
    how = ["-m", "benchmarks.tutorials.build", "--ours"] if ours else [str(Path(__file__).with_name("build.py"))]
    with tempfile.TemporaryDirectory() as out:
        words = ["--tutorials", bundle / "sources", "--launches", bundle / "launches.json", "--out", out]
        words += ["--only", launch, "--repeat", REPEAT]
        environment = {key: value for key, value in os.environ.items() if ours or key != "PYTHONPATH"}
        subprocess.run([python, *how, *map(str, words)], check=True, capture_output=True, env=environment)
        return statistics.median(json.loads((Path(out) / f"{launch}.json").read_text())["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("compilers", nargs="+", metavar="NAME=PYTHON")
    options = parser.parse_args()
    compilers = dict(text.split("=", 1) for text in options.compilers)
    first = next(iter(compilers))
    rows: dict[str, dict[str, Any]] = {}
    for name in (case.name for case in CASES if options.only in case.name):
        seconds = {who: measure(python, who == first, options.bundle, name) for who, python in compilers.items()}
        ratios = {who: round(seconds[first] / each, 3) for who, each in seconds.items() if who != first}
        rows[name] = {"seconds": seconds, "ratio": ratios}
        print(f"{name:45}", " ".join(f"{who} {each:.2f}" for who, each in seconds.items()), ratios, flush=True)
    totals = {who: round(sum(row["seconds"][who] for row in rows.values()), 2) for who in compilers}
    summary = {who: round(totals[first] / total, 3) for who, total in totals.items() if who != first}
    print(json.dumps({"seconds": totals, "ratio": summary}))
    if options.out:
        report = {"repeat": REPEAT, "total seconds": totals, "ratio": summary, "rows": rows}
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
