"""Measures what becomes of the public kernels in `denominator.json`, and writes the table.

    python corpus/fetch.py && python corpus/coverage.py      # measure: benchmarks/results/coverage.json, docs/coverage.md
    python corpus/coverage.py --only NAME [NAME ...]         # measure these kernels again, keep the other results
    python corpus/coverage.py --table                        # only the table, from the results that are there

Every kernel gets a verdict with the profit gate on and off. With the gate off, the barrier protocol of each one that was
rewritten is checked as `tlxify verify` does, and it is simulated against its source on launches of its contract:
`few_cases` says which. Only those whose protocol holds, that ran at 2·stages+1 trips or more, took the specialized
kernel and agreed count as converted.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from coverage_protocol import Dots, Protocol, dots, protocol
from coverage_results import RESULTS, denominator, keep, revision, revisions
from coverage_table import outcome, table

from tlxify.cli import version
from tlxify.contract import Contract, cdiv, evaluate
from tlxify.facts import Facts
from tlxify.job import converted
from tlxify.migrate.pool import Limits, records
from tlxify.migrate.work import Work
from tlxify.outcome import KernelOutcome
from tlxify.pipeline import analyze
from tlxify.verdict import Rung
from tlxify.verify.cases import Case
from tlxify.verify.child import Job
from tlxify.verify.child import Limits as ChildLimits
from tlxify.verify.child import run_job
from tlxify.verify.inputs import edge_cases, stages_of, tile_extent, with_sizes
from tlxify.verify.unlaunchable import CODE as CONTRACT_FAULT

HERE = Path(__file__).resolve().parent
STORE = HERE.parent / ".corpus"
PAGE = HERE.parent / "docs" / "coverage.md"
#: How a finding begins that says that the guard leaves a launch to the original: so it is as the contract lays it out.
ORIGINAL = "the original kernel would run"
#: Seconds that simulating one kernel may take.
SIMULATION = 600.0


@dataclass(frozen=True, slots=True)
class Simulated:
    """How simulating a rewritten kernel ended."""

    #: agrees, short (agrees, but no case was long enough), disagrees, not run (the guard leaves every case to the
    #: original), source fails, crash or timeout
    outcome: str
    #: The most trips of a dot loop in any case: as sizes tell them, or as often as one program of the source executed
    #: one dot. Of dots outside of all loops, which a tile loop repeats: as often as one program filled their slots.
    trips: int | None
    #: How many are asked for: 2·stages+1.
    wanted: int
    runs: int = 0
    findings: tuple[str, ...] = ()
    #: That converting and simulating it took.
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Proved:
    """What is known of a rewritten kernel."""

    simulated: Simulated
    protocol: Protocol
    dots: Dots


def few_cases(contract: Contract) -> tuple[Case, ...]:
    """A selection of the verifier's edge cases for the first config: trips, ragged ends, sizes off by one, layouts.

    Where no one size counts the trips, a case with 2·stages+1 tiles along every size is added.
    """
    wanted = 2 * stages_of(contract, 0) + 1
    chosen: list[Case] = []
    kinds: set[str] = set()
    for case in edge_cases(contract):
        if case.config != 0 or case.zeroed is not None or case.path == "original":
            continue
        kind = "ragged" if case.name.startswith("ragged") else "sizes" if case.name.startswith("sizes") else case.name
        if kind in kinds or kind not in (
            "1 trips",
            f"{wanted} trips",
            "two tiles each way",
            "ragged",
            "sizes",
            "contiguous",
        ):
            continue
        kinds.add(kind)
        schedules = ("late", "eager", 0) if case.trips == wanted or kind == "two tiles each way" else ("late",)
        # Contiguous rows of an odd length are not aligned: then the original runs, and rightly so.
        path = "any" if kind == "contiguous" else case.path
        chosen.append(replace(case, schedules=schedules, path=path))
    if contract.contracted is None and contract.tiled and chosen:
        base = chosen[0]
        constants = base.constants(contract)
        longer = {size: wanted * int(constants.get(tile, 16)) for size, tile in contract.tiled}  # type: ignore[call-overload]
        values = tuple({**dict(base.values), **longer}.items())
        chosen.append(replace(base, name="long", values=values, schedules=("late", 0)))
    return tuple(chosen)


def trips(facts: Facts, contract: Contract, case: Case) -> int | None:
    """Trips of the longest dot loop in a case, where its bounds are written with what the launch says."""
    if case.trips is not None:
        return case.trips
    values = {**dict(case.values), **case.constants(contract)}
    spans = {span for dot in facts.dots for span in dot.loops}
    found = []
    for loop in facts.loops:
        if loop.span in spans:
            start, stop, step = loop.text
            for bound in (stop, stop.replace("tl.", "")):
                try:
                    found.append(cdiv(evaluate(f"({bound})-({start})", values), evaluate(step, values)))
                    break
                except (KeyError, ValueError, TypeError, SyntaxError, ZeroDivisionError):
                    continue
    return max(found, default=None)


def proved(file: str, name: str) -> Proved:
    """Proves a kernel's conversion as far as it is asked here, unless the same text was proved before by the same tool."""
    started = time.monotonic()
    conversion = converted(Path(file), (name,), "auto", profitable=False)
    (kernel,) = (kernel for kernel in conversion.converted if kernel.conversion is not None and kernel.name == name)
    assert kernel.conversion is not None and kernel.plan is not None
    issued = dots(kernel.plan, kernel.conversion)
    contract = kernel.conversion.contract
    wanted = 2 * stages_of(contract, 0) + 1
    cases = few_cases(contract)
    text = f"{machinery()}{kernel.conversion.module_text}{contract!r}{cases!r}"
    kept = STORE / "proved" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    if kept.exists():
        data = json.loads(kept.read_text())
        return Proved(Simulated(**_listed(data["simulated"])), Protocol(**_listed(data["protocol"])), issued)
    held = protocol(kernel.conversion, SIMULATION)
    held = replace(held, findings=tuple(map(clean, held.findings)), skipped=tuple(map(clean, held.skipped)))
    facts = analyze(conversion.source, name)[0].facts
    longest = max((n for case in cases if (n := trips(facts, contract, case)) is not None), default=None)
    looped = any(dot.loops for dot in facts.dots)
    found = run(kernel, cases, longest, wanted, looped=looped)
    # Where a program makes one trip and takes one tile, no size makes it more.
    grows = looped or kernel.plan.persistence is not None
    for case in longer(contract, cases[0], wanted) if found.outcome == "short" and grows else ():
        again = run(kernel, (case,), None, wanted, looped=looped, seconds=SIMULATION / 4)
        if again.outcome in ("agrees", "disagrees"):
            found = replace(again, runs=found.runs + again.runs)
            break
    found = replace(found, seconds=round(time.monotonic() - started - held.seconds, 1))
    if "timeout" not in (found.outcome, held.outcome):  # a less busy machine may do better
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"simulated": asdict(found), "protocol": asdict(held)}))
    return Proved(found, held, issued)


def _listed(data: dict[str, Any]) -> dict[str, Any]:
    """Fields as they were before JSON made lists of their tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}


@functools.cache
def machinery() -> str:
    """A hash of everything that takes part in simulating: what was simulated by another is not believed."""
    roots = [HERE.parent / name for name in ("tlx", "tlxify/verify")]
    files = [HERE.parent / "tlxify" / "contract.py"]
    files += sorted(path for root in roots for path in root.rglob("*.py") if "lowering" not in path.parts)
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def longer(contract: Contract, case: Case, wanted: int) -> Iterator[Case]:
    """Launches with more tiles along every size, for kernels whose trips no one size tells: twice as many, and so on."""
    sizes = {scalar.name for scalar in contract.scalars if scalar.kind == "size"} | set(contract.free_sizes)
    tiles = dict([*contract.tiled, *([contract.contracted] if contract.contracted else [])])
    values, constants = dict(case.values), case.constants(contract)
    for names, more in ((set(tiles), 1), (set(tiles), 2), (sizes, 1)):
        grown = {
            name: wanted * more * tile_extent(constants, tiles[name]) if name in tiles else value * 2
            for name, value in values.items()
            if name in names and isinstance(value, int)
        }
        name = f"{wanted * more} tiles along {len(names)} sizes"
        yield with_sizes(replace(case, name=name, daring=True, path="any", schedules=("late",)), contract, **grown)


def run(
    kernel: KernelOutcome,
    cases: tuple[Case, ...],
    longest: int | None,
    wanted: int,
    *,
    looped: bool = True,
    seconds: float = SIMULATION,
) -> Simulated:
    """Simulates the cases in a child process; `looped` says that some dot stands in a loop."""
    assert kernel.conversion is not None
    job = Job(
        "simulate", kernel.conversion, Rung.SIMULATED, {"cases": cases, "enough": 2}, ChildLimits(seconds, 6 << 30)
    )
    outcome = run_job(job, lambda text: None)
    runs = int(outcome.figures.get("runs", 0))
    counted = int(outcome.figures.get("trips" if looped else "fills", 0))
    longest = max(longest or 0, counted) or None
    texts = tuple(clean(f"{item.code}: {item.text} {_launch(item.detail)}") for item in outcome.findings)
    # A contract of which no launch can be made is a fault of the inference, told like a source that fails.
    if (unmade := outcome.figures.get("unmade")) and not outcome.figures.get("specialized") and not outcome.findings:
        return Simulated("source fails", longest, wanted, runs, (clean(f"{CONTRACT_FAULT}: {unmade}"),))
    if {item.code for item in outcome.findings} == {CONTRACT_FAULT}:
        return Simulated("source fails", longest, wanted, runs, texts)
    if all(item.code == "dispatch" and item.text.startswith(ORIGINAL) for item in outcome.findings) and texts:
        return Simulated("not run", longest, wanted, runs, texts)  # no result was compared
    if outcome.findings:
        died = {item.code for item in outcome.findings} & {"crash", "timeout"}
        return Simulated(min(died) if died else "disagrees", longest, wanted, runs, texts)
    if message := outcome.figures.get("source_fails"):
        return Simulated("source fails", longest, wanted, runs, (clean(str(message)),))
    if not outcome.figures.get("specialized"):
        return Simulated("not run", longest, wanted, runs, ("no case takes the specialized kernel",))
    return Simulated("agrees" if longest is not None and longest >= wanted else "short", longest, wanted, runs)


def _launch(detail: str) -> str:
    """The launch that a finding came with."""
    return next((line for line in detail.splitlines() if line.startswith("with ")), "")


def clean(text: str) -> str:
    """Text without the folders of the machine that it comes from."""
    return re.sub(r"(?<![\w.])/[\w./+-]*/(?=[\w.-]+)", "", text)[:600]


def verdicts(files: Iterable[str], profitable: bool, limits: Limits) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What becomes of every kernel in some files: by file, name and line (of the first decorator, or `def`)."""
    works = [Work(file, profitable=profitable) for file in files]
    found = {}
    for record in records(works, limits):
        for item in record.kernels:
            found[record.file, item.kernel, item.line] = {
                "verdict": item.verdict,
                "codes": list(item.codes),
                "message": item.message,
            }
        for finding in record.findings:
            print(f"{record.file}: {finding.code} {finding.message}", flush=True)
    return found


def of(entry: dict[str, Any], file: str, found: dict[tuple[str, str, int], dict[str, Any]]) -> dict[str, Any]:
    """The verdict for a kernel of the denominator: the nearest one of that name in its file."""
    same = [
        (abs(line - entry["line"]), item)
        for (path, name, line), item in found.items()
        if (path, name) == (file, entry["name"])
    ]
    unseen = {"verdict": "unseen", "codes": [], "message": "the tool finds no kernel of that name"}
    return min(same, key=lambda pair: pair[0])[1] if same else unseen


def measure(rows: list[dict[str, Any]], jobs: int) -> list[dict[str, Any]]:
    """The denominator's rows with `off` and `on` (verdicts by gate), `simulated`, `protocol` and `dots`.

    `jobs` kernels are worked on at a time.
    """
    by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_file[str(STORE / f"{row['package']}-{row['version']}" / row["path"])].append(row)
    limits = Limits(processes=jobs)
    off = verdicts(by_file, False, limits)
    for file, entries in by_file.items():
        for row in entries:
            row["off"] = of(row, file, off)
    rewritten = [
        (file, row["name"], row)
        for file, entries in by_file.items()
        for row in entries
        if row["off"]["verdict"] == "converted"
    ]
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(proved, file, name): row for file, name, row in rewritten}
        for future in as_completed(waiting):
            row, result = waiting[future], future.result()
            row |= asdict(result)
            seconds = f"{result.simulated.seconds:6.1f} + {result.protocol.seconds:.1f} s"
            said = f"{result.simulated.outcome}, protocol {result.protocol.outcome}"
            print(
                f"{seconds}  {row['path']} {row['name']}: {said}, {result.dots.in_place} dots in place",
                *result.simulated.findings,
                *result.protocol.findings,
                flush=True,
            )
    # The gate only takes kernels away: where nothing was rewritten without it, nothing will be with it.
    some = {file for file, entries in by_file.items() if any(row["off"]["verdict"] == "converted" for row in entries)}
    on = verdicts(some, True, limits)
    for file, entries in by_file.items():
        for row in entries:
            row["on"] = of(row, file, on) if file in some else row["off"]
    return rows


def main() -> int:
    """Measures, or only draws the table; exit status 1 if a rewritten kernel disagrees, or its protocol fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only write the page from the results that are there")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="measure only kernels of these names, or in these files"
    )
    parser.add_argument("--jobs", type=int, default=2, help="kernels to convert and simulate at a time")
    options = parser.parse_args()
    if not options.table:
        wanted = [
            row
            for row in denominator()
            if not options.only
            or row["name"] in options.only
            or any(row["path"].endswith(name) for name in options.only)
        ]
        rows = measure(wanted, options.jobs)
        for row in rows:
            row["revision"] = revision()
        keep(rows, f"tlxify {version()}")
    data = json.loads(RESULTS.read_text())
    PAGE.write_text(table(data["kernels"], revisions(data["kernels"])))
    wrong = [row for row in data["kernels"] if outcome(row) in ("disagrees", "crash", "protocol")]
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
