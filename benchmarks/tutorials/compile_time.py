"""How long compilers take for the same launches, in seconds of processor time.

    python -m benchmarks.tutorials.compile_time --bundle .tutorials --out FILE ours=PYTHON fork=OTHER_PYTHON

Each compilation starts from the kernel's Python and ends in a cubin, past Triton's cache; ptxas counts. Compilers take
turns, launch by launch, several compilations per process and several processes each. The median of a launch's
compilations is what issue 3 asks about; the least is what the compiler itself needs where the machine had other work.

FILE holds, for all launches together and under "rows" for each:

    {"median": {"seconds": {"ours": s, "fork": s}, "ratio": {"fork": r}}, "least": {the same}}

Seconds of all launches are the sums of their medians (or leasts); a ratio is ours divided by the other's.
"compilations" is how many each median is of.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
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


def compared(seconds: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """One figure per compiler, the judged one first, with its ratio to each other's."""
    first = next(iter(seconds))
    rounded = {who: round(each, 3) for who, each in seconds.items()}
    return {
        "seconds": rounded,
        "ratio": {who: round(seconds[first] / each, 3) for who, each in seconds.items() if who != first},
    }


def summarized(samples: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, Any]:
    """The report on the seconds of each compilation, by launch and compiler."""
    kinds: dict[str, Callable[[Sequence[float]], float]] = {"median": statistics.median, "least": min}
    figures = {
        kind: {launch: {who: pick(each) for who, each in found.items()} for launch, found in samples.items()}
        for kind, pick in kinds.items()
    }
    compilers = list(next(iter(samples.values())))
    report: dict[str, Any] = {"compilations": min(len(each) for found in samples.values() for each in found.values())}
    for kind, rows in figures.items():
        report[kind] = compared({who: sum(row[who] for row in rows.values()) for who in compilers})
    report["rows"] = {launch: {kind: compared(figures[kind][launch]) for kind in kinds} for launch in samples}
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains one of these, by commas")
    parser.add_argument("compilers", nargs="+", metavar="NAME=PYTHON")
    options = parser.parse_args()
    compilers = dict(text.split("=", 1) for text in options.compilers)
    first = next(iter(compilers))
    samples: dict[str, dict[str, list[float]]] = {}
    wanted = options.only.split(",")
    for name in (case.name for case in CASES if case.timed and any(part in case.name for part in wanted)):
        samples[name] = {who: [] for who in compilers}
        for _ in range(ROUNDS):
            for who, python in compilers.items():
                samples[name][who] += measure(python, who == first, options.bundle, name)
        report = summarized(samples)
        print(f"{name:45}", *(f"{kind} {report['rows'][name][kind]}" for kind in ("median", "least")), flush=True)
        if options.out:
            # A run that is stopped leaves what it has.
            options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({kind: report[kind] for kind in ("median", "least")}))


if __name__ == "__main__":
    main()
