"""`tlxify verify`: proves a conversion, a converted file or a second version of a kernel, rung by rung."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from ..config import unused
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
    tier_option,
    tiles_option,
)
from ..job import Job, converted, paired, standing, verified
from ..outcome import FileConversion
from ..render.findings import finding
from ..render.ladder import ladder
from ..verdict import Rung
from .measuring import captured_option, record


def picture_name(context: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    """The file for a picture, if its name says which kind of picture."""
    if value is not None and value.suffix.lower() not in (".html", ".svg"):
        raise click.BadParameter(f"a picture is an .html or an .svg file, not {value.name!r}")
    return value


@click.command()
@paths_argument
@kernel_option
@click.option("--as", "other", metavar="NAME", help="What the kernel is called in the second of two FILEs.")
@click.option("--upto", type=click.Choice(RUNGS[1:]), default="compiled", show_default=True, help="Prove up to here.")
@click.option("--replay", metavar="LAUNCH", help="Simulate only this launch, as a finding printed it.")
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=picture_name,
    help="Draw a simulated launch into this .html or .svg file.",
)
@captured_option
@schedule_option
@tiles_option
@tier_option
@gate_option
@contract_option
@json_option
def verify(
    paths: tuple[Path, ...],
    kernels: tuple[str, ...],
    other: str | None,
    upto: str,
    replay: str | None,
    timeline: Path | None,
    captured: Path | None,
    schedule: str,
    tiles: str | None,
    tier: str,
    ungated: bool,
    show_contract: bool,
    as_json: bool,
) -> None:
    """Proves a conversion, or a second version of a kernel, rung by rung.

    \b
    verify FILE                       converts FILE in memory and proves that
    verify FILE_tlx.py                proves a converted file as it stands, sidecar or written by -o
    verify OLD.py NEW.py --kernel K   proves that K does in NEW.py what it does in OLD.py, plain Triton or TLX

    What a valid launch is can be corrected in [tool.tlxify.contracts] of pyproject.toml; see --show-contract.
    """
    rung = Rung[upto.upper()]
    if timeline is not None and rung < Rung.SIMULATED:
        raise click.UsageError("--timeline draws a simulated launch: use it with --upto simulated or higher")
    pairwise = len(paths) == 2 and len(kernels) == 1
    show(*dict.fromkeys(line for path in paths for line in unused(path)), err=True)
    if other is not None and not pairwise:
        raise click.UsageError("--as names the kernel in the second of two FILEs: verify OLD NEW --kernel K --as NAME")
    if replay is not None and (len(kernels) != 1 or (len(paths) != 1 and not pairwise)):
        raise click.UsageError("--replay repeats a launch of one kernel: name it with --kernel")
    options = [*(["--schedule", schedule] if schedule != "auto" else []), *(["--no-profit-gate"] if ungated else [])]
    options += ["--tiles", tiles] if tiles is not None else []
    options += ["--tier", tier] if tier != "tlx" else []
    options += ["--captured", str(captured)] if captured is not None else []
    if captured is not None and timeline is not None:
        raise click.UsageError("--captured takes all launches of a record: it excludes --timeline")
    # A launch that is repeated says nothing of other rungs.
    job = Job(upto=rung if replay is None else Rung.SIMULATED, timeline=timeline, replay=replay, options=tuple(options))
    job.captured = record(captured)
    for path in paths[:1] if pairwise else paths:
        if pairwise:
            conversion = paired(paths[0], paths[1], kernels[0], other)
        else:
            conversion = subject_of(path, kernels, schedule, profitable=not ungated, tiles=tiles, tier=tier)
        job.conversions.append(conversion)
        if captured is None:  # else its numbers mean what the record says
            check_replay(replay, conversion)
        if not as_json:
            show(*contracts(path, conversion.kernels if show_contract else []))
        verified(job, conversion, partial(progress, quiet=as_json))
        if not as_json:
            kernels_left = (kernel for kernel in conversion.kernels if kernel.verdict_word != "converted")
            refused = [*conversion.diagnostics, *(item for kernel in kernels_left for item in kernel.diagnostics)]
            show(*(finding(item, conversion.source) for item in refused))
            show(*(ladder(verdict) for (file, _), verdict in job.verdicts.items() if file == conversion.source.path))
    if len(paths) == 2 and not kernels and not job.verdicts:
        show("Each FILE was taken by itself; two versions of a kernel K: verify OLD.py NEW.py --kernel K", err=True)
    finish(job, as_json)


def subject_of(
    path: Path, kernels: tuple[str, ...], schedule: str, *, profitable: bool, tiles: str | None, tier: str
) -> FileConversion:
    """What is to be proved of one file: the conversions that it holds, else those that it would get."""
    found = standing(path, kernels)
    return converted(path, kernels, schedule, profitable=profitable, tiles=tiles, tier=tier) if found is None else found


def check_replay(replay: str | None, conversion: FileConversion) -> None:
    """Raises UsageError where a launch to be repeated cannot be read."""
    if replay is None:
        return
    from ..verify.replay import case_of

    for kernel in conversion.kernels:
        if kernel.conversion is not None:
            try:
                case_of(replay, kernel.conversion.contract)
            except ValueError as error:
                raise click.UsageError(f"--replay: {error}") from error
