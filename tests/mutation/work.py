"""What one worker does: the launches of a subject as they are, or some of its breaks."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import tlx

from .judge import Judge, learn
from .subjects import Prepared, Subject, prepare, subjects

#: file → what the simulator finds in it as shipped, and rightly
DEFECTS = {
    # It ends while its TMA store may still read shared memory.
    "blackwell_gemm_pipelined.py": frozenset({"leftover-state"}),
}


@functools.lru_cache(maxsize=1)
def everything() -> list[Subject]:
    """All subjects; their places in the list are how workers name them."""
    return subjects()


@functools.lru_cache(maxsize=1)
def prepared(number: int) -> Prepared:
    """A subject, ready to run: the tasks of one come one after the other."""
    return prepare(everything()[number])


def clean(task: tuple[int, int]) -> dict[str, Any]:
    """Runs the launches of a subject as they are: late, eager, and so many seeds."""
    number, seeds = task
    subject, made = everything()[number], prepared(number)
    allowed = DEFECTS.get(subject.file, frozenset())
    wrong, found = [], set()
    with tlx.sim.session():
        for launch in made.launches:
            results = set()
            for schedule in ("late", "eager", *range(seeds)):
                codes, memory = launch.run(schedule)
                results.add(memory)
                found |= {code for code, _ in codes}
                strange = [(code, line) for code, line in codes if code not in allowed]
                wrong += [f"{subject.file}: {code} at line {line} under {schedule}" for code, line in strange]
            if len(results) > 1:
                wrong.append(f"{subject.file}: {len(results)} different results")
    wrong += [f"{subject.file}: its defect {code} is not found" for code in allowed - found]
    return {
        "group": subject.group, "file": subject.file, "seeded": len(made.launches) * seeds,
        "all": len(made.launches) * (seeds + 2), "wrong": wrong, "breaks": len(made.breaks),
    }  # fmt: skip


def broken(task: tuple[int, int, int]) -> dict[str, Any]:
    """Runs the breaks of a subject from one number to another."""
    number, first, last = task
    subject, made = everything()[number], prepared(number)
    learn(made.launches)
    judge = Judge(made.launches)
    killed: Counter[tuple[str, str]] = Counter()
    refusals: Counter[str] = Counter()
    survivors = []
    with tlx.sim.session():
        for item in made.breaks[first:last]:
            mutant = item.mutant
            classes: tuple[str, ...] = ()
            death = judge.death(item)
            if death is None:
                judged = judge.classes(item)
                death, classes = (None, judged) if isinstance(judged, tuple) else (judged, ())
            if death is not None:
                killed[mutant.what.partition(":")[0], death.by] += 1
                refusals[death.detail] += bool(death.detail)
                continue
            survivors.append(
                {
                    "file": subject.file, "function": item.name, "line": mutant.line, "text": mutant.text,
                    "mutation": mutant.what, "classes": classes,
                }
            )  # fmt: skip
    return {
        "group": subject.group, "file": subject.file, "breaks": min(last, len(made.breaks)) - first, "killed": killed,
        "refusals": +refusals, "survivors": survivors,
    }  # fmt: skip
