"""The simulator's own test: breaks every kernel there is in every small way, and counts what nobody notices.

    [FBTRITON=DIR] python -m benchmarks.mutate [--output FILE] [--only WORD ...] [--jobs 2] [--seeds 8]

First all launches run as they are under late, eager and so many seeds: nothing may be found but the defects named in
``DEFECTS``, and every schedule must leave the same results. Then the breaks of ``tests/mutation``. A survivor must be
on the list in ``tests/mutation/survivors.toml``, and the class it has there must hold. Meta's tutorials are run where
FBTRITON names an unpacked fbtriton wheel or an environment that has it.
"""

from __future__ import annotations

import argparse
import functools
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

import tlx
from tests.mutation.judge import SCHEDULES, Judge, learn
from tests.mutation.subjects import Prepared, prepare, subjects
from tests.mutation.survivors import complaints, reviewed

SHARES = "{} of {} breaks survive ({:.1%}); {} seeded schedules as shipped"
#: breaks that one task of a worker takes on
CHUNK = 40
#: the largest share of breaks that may survive
MOST = 0.06
#: file → what the simulator finds in it as shipped
DEFECTS = {
    # It ends while its TMA store may still read shared memory.
    "blackwell_gemm_pipelined.py": frozenset({"leftover-state"}),
}


@functools.lru_cache(maxsize=1)
def prepared(number: int) -> Prepared:
    """The subject of that number; the tasks of one come one after the other."""
    return prepare(subjects()[number])


def clean(task: tuple[int, int]) -> dict[str, Any]:
    """Runs the launches of a subject as they are."""
    number, seeds = task
    subject, made = subjects()[number], prepared(number)
    allowed = DEFECTS.get(subject.file, frozenset())
    wrong, found = [], set()
    with tlx.sim.session():
        for launch in made.launches:
            results = set()
            for schedule in ("late", "eager", *range(seeds)):
                codes, memory = launch.run(schedule)
                results.add(memory)
                found |= {code for code, _ in codes}
                wrong += [
                    f"{subject.file}: {code} at line {line} under {schedule}"
                    for code, line in codes
                    if code not in allowed
                ]
            if len(results) > 1:
                wrong.append(f"{subject.file}: {len(results)} different results")
    wrong += [f"{subject.file}: its defect {code} is not found" for code in allowed - found]
    runs = len(made.launches) * seeds
    return {
        "group": subject.group,
        "seeded": runs,
        "named": runs + 2 * len(made.launches),
        "wrong": wrong,
        "breaks": len(made.breaks),
    }


def broken(task: tuple[int, int, int]) -> dict[str, Any]:
    """Runs some breaks of a subject."""
    number, first, last = task
    subject, made = subjects()[number], prepared(number)
    learn(made.launches)
    judge = Judge(made.launches)
    killed: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    survivors = []
    with tlx.sim.session():
        for item in made.breaks[first:last]:
            kind = item.mutant.what
            classes: tuple[str, ...] = ()
            death = judge.death(item)
            if death is None:
                judged = judge.classes(item)
                death, classes = (None, judged) if isinstance(judged, tuple) else (judged, ())
            if death is not None:
                killed[f"{kind.partition(':')[0]}|{death.by}"] += 1
                refusals[death.detail] += bool(death.detail)
                continue
            survivors.append(
                {
                    "file": subject.file, "function": item.name, "line": item.mutant.line, "text": item.mutant.text,
                    "mutation": kind, "classes": classes,
                }
            )  # fmt: skip
    return {
        "group": subject.group, "file": subject.file, "breaks": min(last, len(made.breaks)) - first, "killed": killed,
        "refusals": +refusals, "survivors": survivors,
    }  # fmt: skip


def chosen(words: list[str]) -> Iterator[int]:
    """Numbers of the subjects whose group or file holds one of the words."""
    for number, subject in enumerate(subjects()):
        if not words or any(word in f"{subject.group}/{subject.file}" for word in words):
            yield number


def summary(deaths: Counter[str], survivors: list[dict[str, Any]]) -> Table:
    """Breaks by kind, and what noticed them."""
    table = Table("break", "made", "survive", "noticed by", title="breaks")
    alive = Counter(one["mutation"].partition(":")[0] for one in survivors)
    kinds = sorted({key.partition("|")[0] for key in deaths} | alive.keys())
    for kind in kinds:
        by = Counter({key.partition("|")[2]: n for key, n in deaths.items() if key.partition("|")[0] == kind})
        words = ", ".join(f"{code} {n}" for code, n in by.most_common())
        table.add_row(kind, str(sum(by.values()) + alive[kind]), str(alive[kind]), words)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="also write the JSON to this file")
    parser.add_argument("--only", nargs="+", default=[], help="subjects whose group or file holds one of these words")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=8, help="random schedules of every launch as it is")
    options = parser.parse_args()
    console = Console(stderr=True)
    numbers, start = list(chosen(options.only)), time.time()
    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn()
    # A fork would share greenlets and Triton's patches; a spawned worker starts clean.
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool, Progress(*columns, console=console) as bar:
        line = bar.add_task("as they are", total=len(numbers))
        whole = []
        for result in pool.imap(clean, [(number, options.seeds) for number in numbers]):
            whole.append(result)
            bar.advance(line)
        counts = [result["breaks"] for result in whole]
        line = bar.add_task("broken", total=sum(counts))
        tasks = [
            (number, first, first + CHUNK)
            for number, count in zip(numbers, counts, strict=True)
            for first in range(0, count, CHUNK)
        ]
        parts = []
        for result in pool.imap_unordered(broken, tasks):
            parts.append(result)
            bar.advance(line, result["breaks"])
    deaths, refusals = (
        sum((part["killed"] for part in parts), Counter()),
        sum((p["refusals"] for p in parts), Counter()),
    )
    survivors = sorted(
        (one for part in parts for one in part["survivors"]),
        key=lambda one: (one["file"], one["line"], one["mutation"]),
    )
    made = sum(counts)
    share = len(survivors) / made if made else 0.0
    wrong = [text for result in whole for text in result["wrong"]]
    wrong += complaints(survivors, reviewed(), [subjects()[n].file for n in numbers], share, MOST)
    groups = {
        group: {
            "files": sum(subjects()[n].group == group for n in numbers),
            "breaks": sum(r["breaks"] for r in whole if r["group"] == group),
            "survivors": sum(len(part["survivors"]) for part in parts if part["group"] == group),
        }
        for group in dict.fromkeys(subjects()[n].group for n in numbers)
    }
    noticed: Counter[str] = Counter()
    for key, number in deaths.items():
        noticed[key.partition("|")[2]] += number
    report = {
        "breaks": made,
        "survivors": len(survivors),
        "share": round(share, 4),
        "noticed_by": dict(noticed.most_common()),
        "refusals": +refusals, "survivors": survivors,
    }  # fmt: skip


def chosen(words: list[str]) -> Iterator[int]:
    """Numbers of the subjects whose group or file holds one of the words."""
    for number, subject in enumerate(subjects()):
        if not words or any(word in f"{subject.group}/{subject.file}" for word in words):
            yield number


def summary(deaths: Counter[str], survivors: list[dict[str, Any]]) -> Table:
    """Breaks by kind, and what noticed them."""
    table = Table("break", "made", "survive", "noticed by", title="breaks")
    alive = Counter(one["mutation"].partition(":")[0] for one in survivors)
    kinds = sorted({key.partition("|")[0] for key in deaths} | alive.keys())
    for kind in kinds:
        by = Counter({key.partition("|")[2]: n for key, n in deaths.items() if key.partition("|")[0] == kind})
        words = ", ".join(f"{code} {n}" for code, n in by.most_common())
        table.add_row(kind, str(sum(by.values()) + alive[kind]), str(alive[kind]), words)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="also write the JSON to this file")
    parser.add_argument("--only", nargs="+", default=[], help="subjects whose group or file holds one of these words")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=8, help="random schedules of every launch as it is")
    options = parser.parse_args()
    console = Console(stderr=True)
    numbers, start = list(chosen(options.only)), time.time()
    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn()
    # A fork would share greenlets and Triton's patches; a spawned worker starts clean.
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool, Progress(*columns, console=console) as bar:
        line = bar.add_task("as they are", total=len(numbers))
        whole = []
        for result in pool.imap(clean, [(number, options.seeds) for number in numbers]):
            whole.append(result)
            bar.advance(line)
        counts = [result["breaks"] for result in whole]
        line = bar.add_task("broken", total=sum(counts))
        tasks = [
            (number, first, first + CHUNK)
            for number, count in zip(numbers, counts, strict=True)
            for first in range(0, count, CHUNK)
        ]
        parts = []
        for result in pool.imap_unordered(broken, tasks):
            parts.append(result)
            bar.advance(line, result["breaks"])
    deaths, refusals = (
        sum((part["killed"] for part in parts), Counter()),
        sum((p["refusals"] for p in parts), Counter()),
    )
    survivors = sorted(
        (one for part in parts for one in part["survivors"]),
        key=lambda one: (one["file"], one["line"], one["mutation"]),
    )
    made = sum(counts)
    share = len(survivors) / made if made else 0.0
    wrong = [text for result in whole for text in result["wrong"]]
    wrong += complaints(survivors, reviewed(), [subjects()[n].file for n in numbers], share, MOST)
    groups = {
        group: {
            "files": sum(subjects()[n].group == group for n in numbers),
            "breaks": sum(r["breaks"] for r in whole if r["group"] == group),
            "survivors": sum(len(part["survivors"]) for part in parts if part["group"] == group),
        }
        for group in dict.fromkeys(subjects()[n].group for n in numbers)
    }
    noticed: Counter[str] = Counter()
    for key, number in deaths.items():
        noticed[key.partition("|")[2]] += number
    report = {
        "breaks": made,
        "survivors": len(survivors),
        "share": round(share, 4),
        "noticed_by": dict(
            Counter(
                {
                    code: sum(n for key, n in deaths.items() if key.endswith(f"|{code}"))
                    for code in {k.partition("|")[2] for k in deaths}
                }
            ).most_common()
        ),
        "refusals": dict(refusals.most_common()),
        "groups": groups,
        "schedules_as_shipped": {
            "seeded": sum(r["seeded"] for r in whole),
            "with_late_and_eager": sum(r["named"] for r in whole),
        },
        "defects_found_as_shipped": {file: sorted(codes) for file, codes in DEFECTS.items()},
        "schedules_per_break": [str(s) for s in SCHEDULES],
        "wrong": wrong,
        "list": survivors,
        "seconds": round(time.time() - start),
        "triton": triton.__version__,
    }
    console.print(summary(deaths, survivors))
    for one in survivors:
        where = f"{one['file']}:{one['function']}+{one['line']}"
        text = f"survives ({', '.join(one['classes'])}): {where} {one['mutation']}: {one['text']}"
        console.print(text, markup=False, soft_wrap=True)
    for text in wrong:
        console.print(f"wrong: {text}", markup=False, style="red", soft_wrap=True)
    console.print(SHARES.format(len(survivors), made, share, report["schedules_as_shipped"]["seeded"]))
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
