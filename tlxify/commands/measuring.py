"""`tlxify capture`, `profile` and `bench`: what a program launches, where its time goes, what converting changes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from ..console import (
    ToolError,
    gate_option,
    json_option,
    kernel_option,
    path_argument,
    progress,
    show,
    tier_option,
    tiles_option,
    version,
)

if TYPE_CHECKING:
    from ..bench.report import Report
    from ..bench.run import Measured
    from ..capture.launches import Capture
    from ..outcome import FileConversion

#: Kinds of launches that one process writes down.
LIMIT = 10_000

record_type = click.Path(exists=True, path_type=Path)
captured_option = click.option(
    "--captured",
    type=record_type,
    metavar="RECORD",
    help="Take the launches that `tlxify capture` recorded, instead of those of the contract.",
)


@contextmanager
def usable() -> Iterator[None]:
    """Turns what a file or a machine lacks into exit status 2 with a sentence."""
    from ..bench.report import Unusable as NoReport
    from ..bench.run import NoGpu
    from ..capture.launches import Unusable as NoRecord

    try:
        yield
    except (NoReport, NoRecord, NoGpu) as error:
        raise ToolError(str(error)) from error
    except OSError as error:
        raise ToolError(f"{error.filename or ''}: {error.strerror or error}") from error


def record(path: Path | None) -> Capture | None:
    """The record at a path that an option names."""
    if path is None:
        return None
    from ..capture.launches import read

    with usable():
        return read(path)


@click.command(context_settings={"ignore_unknown_options": True})
@kernel_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("launches.jsonl"),
    show_default=True,
    help="The record.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    help="Kinds of launches that one process writes down; further ones are only counted.",
)
@click.option("--data", is_flag=True, help="Also save the contents of tensors (waits for the device).")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
def capture(kernels: tuple[str, ...], output: Path, limit: int, data: bool, command: tuple[str, ...]) -> None:
    """Runs COMMAND and records every kernel launch of its Python processes: shapes, strides, types, grid, GPU time.

    Exit status 1 if COMMAND failed or launched nothing; what it launched is recorded all the same.
    """
    from ..capture.run import capture as run

    with usable():
        status, found = run(command, output, kernels=kernels, limit=limit, data=data)
    names = {launch.kernel for launch in found.launches} | set(found.overflow)
    total = sum(launch.launches for launch in found.launches) + sum(found.overflow.values())
    shown = f"{total} launches of {len(names)} kernels, {len(found.launches)} kinds, {len(found.processes)} processes"
    show(Text(f"wrote {output}: {shown}"), err=True)
    if found.overflow:
        beyond = sum(found.overflow.values())
        show(Text(f"{beyond} launches were of kinds past --limit {limit}: they are counted only", "yellow"), err=True)
    for text in found.troubles:
        show(Text(text, "yellow"), err=True)
    if not found.launches:
        show(Text("no launch of a Triton kernel was seen", "bold yellow"), err=True)
    if status:
        show(Text(f"the command ended with status {status}", "bold yellow"), err=True)
    raise click.exceptions.Exit(int(bool(status) or not found.launches))


@click.command()
@click.argument("path", metavar="RECORD", type=record_type)
@json_option
def profile(path: Path, as_json: bool) -> None:
    """Shows where the GPU time of a captured program goes, and what converting would save.

    Exit status 1 if a converted kernel would fall back to its original for a reason that another allocation avoids.
    """
    from ..capture.profiling import profile as profiled
    from ..render.profile import advices, profile_table

    found = record(path)
    assert found is not None
    with progress("profiling", quiet=as_json) as tell:
        rows = profiled(found, progress=tell)
    avoidable = any(fallback.advice for row in rows for fallback in row.fallbacks)
    if as_json:
        click.echo(json.dumps({"kernels": [dataclasses.asdict(row) for row in rows]}, indent=2))
    else:
        show(profile_table(rows), *advices(rows))
    raise click.exceptions.Exit(int(avoidable))


@click.command()
@path_argument
@kernel_option
@click.option("--shapes", multiple=True, metavar="M=4096,N=…", help="Measure these sizes (repeatable).")
@captured_option
@click.option("--reference", metavar="MODULE:CALLABLE", help="Time this as well, called with the arguments it names.")
@click.option("--rounds", type=click.IntRange(min=3), default=15, show_default=True, help="Turns of each contender.")
@click.option("--against", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="An older report.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as JSON.")
@click.option("--chart", type=click.Path(dir_okay=False, path_type=Path), help="Draw the speeds into this SVG file.")
@tiles_option
@tier_option
@gate_option
@click.option("--time-limit", type=float, default=600.0, show_default=True, help="Seconds that one kernel may take.")
@json_option
def bench(
    path: Path,
    kernels: tuple[str, ...],
    shapes: tuple[str, ...],
    captured: Path | None,
    reference: str | None,
    rounds: int,
    against: Path | None,
    output: Path | None,
    chart: Path | None,
    tiles: str | None,
    tier: str,
    ungated: bool,
    time_limit: float,
    as_json: bool,
) -> None:
    """Times the conversion of FILE against FILE itself on this machine's GPU.

    Exit status 1 if a launch could not be measured, or with --against if its speedup fell.
    """
    from .. import files
    from ..bench import report as reports
    from ..bench.run import bench as measure
    from ..job import converted
    from ..render.bench import bench_table, change_table
    from ..render.chart import chart as draw
    from ..render.findings import finding
    from ..verify.child import Limits

    with usable():
        old = reports.read(against) if against is not None else None
    conversion = converted(path, kernels, "auto", profitable=not ungated, tiles=tiles, tier=tier)
    refused = [*conversion.diagnostics, *(item for kernel in conversion.kernels for item in kernel.diagnostics)]
    show(*(finding(item, conversion.source) for item in refused), err=True)
    measured = list(_measured(conversion, shapes, captured))
    if not measured:
        what = "converted" if captured is None else "both converted and captured"
        raise click.ClickException(f"nothing to measure: no kernel of the file was {what}")
    with usable(), progress("measuring", quiet=as_json) as tell:
        found = measure(
            measured,
            tool=f"tlxify {version()}",
            rounds=rounds,
            reference=reference,
            progress=tell,
            limits=Limits(seconds=time_limit),
        )
    changes = reports.compare(old, found) if old is not None else ()
    text = json.dumps({**found.data(), "changes": [dataclasses.asdict(change) for change in changes]}, indent=1)
    if output is not None:
        files.write_atomic(output, f"{text}\n".encode())
    if chart is not None:
        files.write_atomic(chart, draw(found).encode())
    if as_json:
        click.echo(text)
    else:
        show(bench_table(found), *([change_table(changes)] if changes else []))
    raise click.exceptions.Exit(_status(found, changes, reports.regressed))


def _status(found: Report, changes: tuple[object, ...], regressed: Callable[..., bool]) -> int:
    return int(any(row.failure for row in found.rows) or regressed(changes))


def _measured(conversion: FileConversion, shapes: tuple[str, ...], captured: Path | None) -> Iterator[Measured]:
    """What to measure of each converted kernel: captured launches, named shapes, or some that fill the chip."""
    from ..bench.run import Measured
    from ..bench.shapes import Unknown, filling, named, parse
    from ..capture.run import parts_of
    from ..capture.verified import replays
    from ..pipeline import analyze

    capture = record(captured)
    for kernel in conversion.converted:
        if kernel.conversion is None or kernel.contract is None:
            continue
        facts = analyze(conversion.source, kernel.name)[0].facts
        if capture is None or captured is None:
            try:
                cases = tuple(named(kernel.contract, parse(text)) for text in shapes) or filling(kernel.contract)
            except Unknown as error:
                raise click.UsageError(str(error)) from error
            yield Measured(kernel.conversion, facts, cases)
            continue
        found = replays(kernel.conversion, capture.of(kernel.name))
        show(*(Text(f"{kernel.name}: left out: {reason}", "yellow") for reason in found.left), err=True)
        # Launches under one contract, with random contents, share a child.
        groups: dict[tuple[object, ...], Measured] = {}
        for launch, made in found.made:
            saved = tuple((x.name, str(parts_of(captured) / x.data)) for x in launch.tensors if x.data)
            key = made.contract, made.pinned, made.pinned and made.case.config, saved
            known = groups.get(key)
            each = dataclasses.replace(kernel.conversion, contract=made.contract)
            cases = (*(known.cases if known is not None else ()), made.case)
            groups[key] = Measured(each, facts, cases, made.pinned, saved)
        yield from groups.values()
