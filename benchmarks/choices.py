"""What a report of `benchmarks/shapes.py` says for `tlx/launch/choices.toml`: where the policy `stable` errs.

    python benchmarks/choices.py benchmarks/results/corpus-h200.json

Launches are grouped by what the policy may know of them (`Facts` in tlx/launch/policy.py), and each group is shown with
the speedups that were measured, what the table chooses for it today, and whether that is right. A group whose
conversions are all slower wants a row for the original; one with both wants a finer row, or none. Which facts a row
asks for is for people to say: a row stands for launches that nobody has measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tlx.launch.policy import Facts, rows

#: Ratios that are no difference: what two runs of one program differ by on an idle H200.
NOISE = 0.02


def grouped(report: dict) -> dict[Facts, list[tuple[float, str]]]:
    """Speedups over the source, with the launch, by what is known of it, without launches that the original takes."""
    found: dict[Facts, list[tuple[float, str]]] = defaultdict(list)
    for row in report["rows"]:
        if row["facts"] is None or row["path"] != "specialized" or "source" not in row["speedup"]:
            continue
        speedup = row["speedup"]["source"]["median"]
        found[Facts(**row["facts"])].append((speedup, f"{row['kernel']} {row['launch']}"))
    return {facts: sorted(found[facts]) for facts in sorted(found, key=lambda facts: min(found[facts]))}


def wanted(speedups: list[tuple[float, str]]) -> str:
    """Which kernel these launches want: "original", "conversion", "either" or "both"."""
    slower = any(speedup < 1 - NOISE for speedup, _ in speedups)
    faster = any(speedup > 1 + NOISE for speedup, _ in speedups)
    if slower and faster:
        return "both"
    return "original" if slower else "conversion" if faster else "either"


def chosen(facts: Facts) -> tuple[str, str]:
    """What the table says today, and by which row."""
    row = next((row for row in rows() if row.fits(facts)), None)
    return ("conversion", "no row") if row is None else (row.runs, row.name)


def main() -> int:
    """The command; returns its exit status: 1 if the table errs for a whole group."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    errs = 0
    for facts, speedups in grouped(json.loads(parser.parse_args().report.read_text())).items():
        want, (runs, row) = wanted(speedups), chosen(facts)
        wrong = want in ("original", "conversion") and want != runs
        errs += wrong
        print(f"{'WRONG' if wrong else '     '} wants {want}, the table runs the {runs} ({row})\n  {facts}")
        for speedup, launch in speedups:
            print(f"  {speedup:7.3f}  {launch}")
    return int(errs > 0)


if __name__ == "__main__":
    sys.exit(main())
