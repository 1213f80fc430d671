"""The simulator's own test: breaks every kernel there is in every small way, and counts what nobody notices.

    [FBTRITON=DIR] python -m benchmarks.mutate [--output FILE] [--only WORD ...] [--jobs 2] [--seeds 8]

First all launches run as they are, under late, eager and so many seeds: nothing may be found but the defects that
``tests/mutation/work.py`` names, and every schedule must leave the same results. Then the breaks. A survivor must be on
the list in ``tests/mutation/survivors.toml``, and the class it has there must hold. Meta's tutorials are run where
FBTRITON names an unpacked fbtriton wheel or an environment that has it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # tiles are too small for threads, which then wait for each other

import triton
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from tests.mutation.judge import SCHEDULES
from tests.mutation.survivors import complaints, reviewed
from tests.mutation.work import DEFECTS, broken, clean, everything

#: breaks that one task of a worker takes on
CHUNK = 40
#: the largest share of breaks that may survive
MOST = 0.06


def chosen(words: list[str]) -> list[int]:
    """Numbers of the subjects whose group and file hold one of the words."""
    return [n for n, s in enumerate(everything()) if not words or any(word in f"{s.group}/{s.file}" for word in words)]


def chunks(numbers: list[int], counts: list[int]) -> Iterator[tuple[int, int, int]]:
    """The breaks of all subjects, in tasks of a few minutes at most."""
    for number, count in zip(numbers, counts, strict=True):
        for first in range(0, count, CHUNK):
            yield number, first, first + CHUNK


def summary(killed: Counter[tuple[str, str]], survivors: list[dict[str, Any]]) -> Table:
    """Breaks by kind, and what noticed them."""
    table = Table("break", "made", "survive", "noticed by", title="breaks")
    alive = Counter(one["mutation"].partition(":")[0] for one in survivors)
    for kind in sorted({kind for kind, _ in killed} | alive.keys()):
        by = Counter({code: number for (other, code), number in killed.items() if other == kind})
        words = ", ".join(f"{code} {number}" for code, number in by.most_common())
        table.add_row(kind, str(sum(by.values()) + alive[kind]), str(alive[kind]), words)
    return table


def report(numbers: list[int], whole: list[dict[str, Any]], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """All figures, and what is wrong."""
    names = [everything()[number] for number in numbers]
    survivors = sorted(
        (one for part in parts for one in part["survivors"]),
        key=lambda one: (one["file"], one["line"], one["mutation"]),
    )
    noticed: Counter[str] = Counter()
    for part in parts:
        for (_, code), number in part["killed"].items():
            noticed[code] += number
    made = sum(result["breaks"] for result in whole)
    share = len(survivors) / made if made else 0.0
    wrong = [text for result in whole for text in result["wrong"]]
    return {
        "breaks": made,
        "survivors": len(survivors),
        "share": round(share, 4),
        "noticed_by": dict(noticed.most_common()),
        "refusals": dict(sum((part["refusals"] for part in parts), Counter()).most_common()),
        "groups": {
            group: {
                "files": sum(subject.group == group for subject in names),
                "breaks": sum(result["breaks"] for result in whole if result["group"] == group),
                "survivors": sum(len(part["survivors"]) for part in parts if part["group"] == group),
                "seeded_schedules_as_shipped": sum(r["seeded"] for r in whole if r["group"] == group),
            }
            for group in dict.fromkeys(subject.group for subject in names)
        },
        "seeded_schedules_as_shipped": sum(result["seeded"] for result in whole),
        "schedules_as_shipped": sum(result["all"] for result in whole),
        "defects_found_as_shipped": {s.file: sorted(DEFECTS[s.file]) for s in names if s.file in DEFECTS},
        "schedules_per_break": [str(schedule) for schedule in SCHEDULES],
        "wrong": wrong + complaints(survivors, reviewed(), [subject.file for subject in names], share, MOST),
        "list": survivors,
        "triton": triton.__version__,
    }


def _say(console: Console, text: str, start: float) -> None:
    """A line for each task where no bar can be drawn."""
    if not console.is_terminal:
        console.print(f"{time.time() - start:7.0f} s  {text}", markup=False, highlight=False, soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="also write the JSON to this file")
    parser.add_argument("--only", nargs="+", default=[], help="subjects whose group or file holds one of these words")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=8, help="random schedules of every launch as it is")
    options = parser.parse_args()
    console, start = Console(stderr=True), time.time()
    numbers = chosen(options.only)
    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn()
    whole, parts = [], []
    # A fork would share greenlets and Triton's patches; a spawned worker starts clean.
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool, Progress(*columns, console=console) as bar:
        line = bar.add_task("as they are", total=len(numbers))
        for result in pool.imap(clean, [(number, options.seeds) for number in numbers]):
            whole.append(result)
            bar.advance(line)
            _say(console, f"as it is: {result['file']}, {len(whole)} of {len(numbers)}", start)
        counts = [result["breaks"] for result in whole]
        line = bar.add_task("broken", total=sum(counts))
        for result in pool.imap_unordered(broken, chunks(numbers, counts)):
            parts.append(result)
            bar.advance(line, result["breaks"])
            _say(console, f"broken: {result['breaks']} of {result['file']}, {len(parts)} tasks", start)
    killed: Counter[tuple[str, str]] = sum((part["killed"] for part in parts), Counter())
    figures = report(numbers, whole, parts) | {"seconds": round(time.time() - start)}
    console.print(summary(killed, figures["list"]))
    for one in figures["list"]:
        where = f"{one['file']}:{one['function']}+{one['line']}"
        text = f"survives ({', '.join(one['classes'])}): {where} {one['mutation']}: {one['text']}"
        console.print(text, markup=False, soft_wrap=True)
    for text in figures["wrong"]:
        console.print(f"wrong: {text}", markup=False, style="red", soft_wrap=True)
    console.print(
        f"{figures['survivors']} of {figures['breaks']} breaks survive ({figures['share']:.1%}); "
        f"{figures['seeded_schedules_as_shipped']} seeded schedules as shipped"
    )
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")
    return int(bool(figures["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
