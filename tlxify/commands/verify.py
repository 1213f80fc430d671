"""`tlxify verify`: converts in memory and proves the conversion, rung by rung."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from ..console import (
    RUNGS,
    contract_option,
    contracts,
    finish,
    gate_option,
    json_option,
    kernel_option,
    paths_argument,
    progress,
    schedule_option,
    show,
)
from ..job import Job, converted, verified
from ..render.findings import finding
from ..render.ladder import ladder
from ..verdict import Rung


def picture_name(context: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    """The file for a picture, if its name says which kind of picture."""
    if value is not None and value.suffix.lower() not in (".html", ".svg"):
        raise click.BadParameter(f"a picture is an .html or an .svg file, not {value.name!r}")
    return value


@click.command()
@paths_argument
@kernel_option
@click.option("--upto", type=click.Choice(RUNGS[1:]), default="compiled", show_default=True, help="Prove up to here.")
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=picture_name,
    help="Draw a simulated launch into this .html or .svg file.",
)
@schedule_option
@gate_option
@contract_option
@json_option
def verify(
    paths: tuple[Path, ...],
    kernels: tuple[str, ...],
    upto: str,
    timeline: Path | None,
    schedule: str,
    ungated: bool,
    show_contract: bool,
    as_json: bool,
) -> None:
    """Converts FILE in memory and proves the conversion, rung by rung."""
    if timeline is not None and Rung[upto.upper()] < Rung.SIMULATED:
        raise click.UsageError("--timeline draws a simulated launch: use it with --upto simulated or higher")
    job = Job(upto=Rung[upto.upper()], timeline=timeline)
    for path in paths:
        conversion = converted(path, kernels, schedule, profitable=not ungated)
        job.conversions.append(conversion)
        if not as_json:
            show(*contracts(path, conversion.kernels if show_contract else []))
        verified(job, conversion, partial(progress, quiet=as_json))
        if not as_json:
            kernels_left = (kernel for kernel in conversion.kernels if kernel.verdict_word != "converted")
            refused = [*conversion.diagnostics, *(item for kernel in kernels_left for item in kernel.diagnostics)]
            show(*(finding(item, conversion.source) for item in refused))
            show(*(ladder(verdict) for (file, _), verdict in job.verdicts.items() if file == conversion.source.path))
    finish(job, as_json)
