"""``python -m tlx sim FILE``: options in, a job for a child process, its result out."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..costs import CHIPS
from ..schedules import parse
from .child import Job, Result, run_job
from .messages import SCHEMA
from .text import finding_text, replay_text, shown, summary_text


def _pairs(option: str, values: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, several times."""
    pairs = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name.isidentifier():
            raise click.UsageError(f"{option} takes NAME=VALUE, not {value!r}")
        pairs[name] = text
    return pairs


def _schedules(named: tuple[str, ...], seeds: int) -> tuple[str, ...]:
    for schedule in named:
        try:
            parse(schedule)
        except (ValueError, OSError) as error:
            raise click.UsageError(str(error)) from None
    return named or ("late", "eager", *map(str, range(seeds)))


@contextmanager
def _bar(shown: bool) -> Iterator[Any]:
    """A progress bar on standard error, if somebody is looking."""
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda *told: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def told(kernel: str, launch: int, schedule: int, schedules: int) -> None:
            progress.update(task, description=f"launch {launch}: {kernel}", completed=schedule, total=schedules)

        yield told


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@click.option("--kernel", help="Simulate this kernel of the file instead of the file's own launches.")
@click.option("--arg", "args", multiple=True, metavar="NAME=TYPE[..]", help="A tensor (bf16[M,K], fp32[M]=0), a descriptor (fp16[M,K]@[64,BK]) or a number.")  # fmt: skip  # noqa: E501
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="A size or constexpr; later ones may use it.")
@click.option("--grid", default="1", show_default=True, help="Extents, such as cdiv(M,BM),2.")
@click.option("--schedule", "named", multiple=True, help="late, eager, a seed, or a recording (its JSON or file).")
@click.option("--schedules", "seeds", default=4, show_default=True, help="Seeds to run beside late and eager.")
@click.option("--exhaustive", is_flag=True, help="Search every order of the first CTA of each launch.")
@click.option("--limit", default=10_000, show_default=True, help="Runs of an exhaustive search.")
@click.option("--max-ctas", type=click.IntRange(1), help="Simulate only the first CTAs of each launch.")
@click.option("--timeline", type=click.Path(), help="Write the timeline of a CTA to this .html or .svg file.")
@click.option("--target", type=click.Choice(sorted(CHIPS)), default="hopper", show_default=True, help="The cost model.")
@click.option("--from-device", is_flag=True, help="Loads of the timeline come from device memory, not from L2.")
@click.option("--record", type=click.Path(), help="Write the schedule of the first finding to this .json file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds for everything.")
@click.option("--memory", default=16.0, show_default=True, help="GiB of address space; 0 for no limit.")
def sim(
    file: str,
    argv: tuple[str, ...],
    kernel: str | None,
    args: tuple[str, ...],
    sets: tuple[str, ...],
    grid: str,
    named: tuple[str, ...],
    seeds: int,
    exhaustive: bool,
    limit: int,
    max_ctas: int | None,
    timeline: str | None,
    target: str,
    from_device: bool,
    record: str | None,
    as_json: bool,
    timeout: float,
    memory: float,
) -> None:
    """Simulate the kernel launches of FILE on the CPU and report races and deadlocks.

    FILE is run with its launches simulated: those of the list TLX_SIM in it, of its main block, or of its main();
    arguments after -- are the program's own. With --kernel only that one is launched, on random tensors.

    Exit status: 0 nothing found, 1 findings, 2 the file could not be simulated.
    """
    if timeline is not None and Path(timeline).suffix.lower() not in (".html", ".svg"):
        raise click.UsageError("--timeline writes an .html or an .svg file")
    if kernel is None and (args or sets):
        raise click.UsageError("--arg and --set describe a launch of --kernel")
    contract = None
    if kernel is not None:
        contract = {"kernel": kernel, "args": _pairs("--arg", args), "set": _pairs("--set", sets), "grid": grid}
    job = Job(
        file, argv, contract, _schedules(named, seeds), max_ctas, limit if exhaustive else None,
        timeline, target, from_device, record, timeout, int(memory * (1 << 30)),
    )  # fmt: skip
    with _bar(not as_json) as told:
        result = run_job(job, told)
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, "file": file, "status": result.status, **asdict(result)}, indent=2))
    else:
        _show(result, job)
    sys.exit(result.status)


def _again(job: Job) -> str:
    """The command that simulates the same launches."""
    words = ["python", "-m", "tlx", "sim", shown(job.file)]
    if job.contract is not None:
        words += ["--kernel", job.contract["kernel"]]
        for option, key in (("--arg", "args"), ("--set", "set")):
            words += [word for name, text in job.contract[key].items() for word in (option, f"{name}={text}")]
        words += ["--grid", job.contract["grid"]]
    return shlex.join([*words, *job.argv])


def _show(result: Result, job: Job) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for found in result.findings:
        console.print(finding_text(found))
    console.print(summary_text(result, job.file), end="")
    if result.findings:
        console.print(replay_text(result.findings[0], _again(job)))
    if result.recorded:
        console.print(f"its schedule, with the fewest departures from late found: {result.recorded}")
    if result.drawn:
        console.print(f"timeline: {job.timeline}")
