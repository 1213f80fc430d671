"""The command line. It alone prints or exits, by way of `tlxify.console`; what it shows is drawn in `tlxify.render`.

Exit status of every command: 0 nothing to report, 1 findings, 2 the tool could not do its job, 130 Ctrl-C.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.text import Text

from . import files
from .catalogue import CATALOGUE
from .commands.measuring import bench, capture, profile
from .commands.verify import verify
from .config import ConfigError
from .console import (
    RUNGS,
    ToolError,
    contract_option,
    contracts,
    ended,
    finish,
    gate_option,
    heading,
    json_option,
    kernel_option,
    path_argument,
    paths_argument,
    progress,
    schedule_option,
    show,
    tier_option,
    tiles_option,
    version,
)
from .diagnostics import Decline
from .job import UNUSABLE, Job, Unreadable, converted, read, verified
from .migrate.record import FileRecord
from .outcome import FileConversion, KernelOutcome
from .render.diff import diff
from .render.dump import dump as outline
from .render.findings import finding
from .render.ladder import ladder
from .render.limits import limit_block
from .render.plan import plan_tables
from .render.roles import role_map
from .source import SourceFile
from .verdict import Rung


class Commands(click.Group):
    """A group whose commands never end in a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; an unexpected exception becomes exit status 2."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal that cannot show a sign must not end the command.
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            # 1 would say that there are findings.
            show(Text("interrupted", "bold red"), err=True)
            raise click.exceptions.Exit(130) from None
        except (files.FileError, ConfigError, Unreadable) as error:
            raise ToolError(str(error)) from error
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            raise ToolError(excuse(error)) from error


def excuse(error: Exception) -> str:
    """What a user is told about an exception that nobody expected."""
    package = str(getattr(error, "name", "")).partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package not in ("tlxify", "tlx"):
        return f"{package} is not installed; `tlxify doctor` says what this environment lacks"
    return (
        f"internal error: {type(error).__name__}: {error}\n"
        f"This is a fault of tlxify {version()}, not of your file. Please report it with the file;\n"
        "`tlxify --debug …` shows where it happened."
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), prog_name="tlxify")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def main(debug: bool) -> None:
    """Rewrites plain Triton kernels as warp-specialized TLX kernels and verifies that they agree."""


def describe(kernel: KernelOutcome, source: SourceFile) -> Iterator[RenderableType]:
    """One kernel's part of a report: verdict word, role map, findings, what limits it, plan."""
    yield heading(f"{kernel.name} ({source.path}:{kernel.span.line}): {kernel.verdict_word}")
    if kernel.roles:
        yield role_map(kernel.roles)
    yield from (finding(item, source) for item in kernel.diagnostics)
    if kernel.limit is not None:
        yield from limit_block(kernel.limit)
    if kernel.plan is not None:
        yield from plan_tables(kernel.plan, kernel.contract)


@main.command()
@paths_argument
@kernel_option
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write one self-contained module."
)
@click.option("--write", is_flag=True, help="Bind the conversion in FILE; kernels go to FILE_tlx.py, backup FILE.orig.")
@click.option(
    "--verify", "upto", type=click.Choice(RUNGS), default="protocol", show_default=True, help="Prove up to here."
)
@schedule_option
@tiles_option
@tier_option
@gate_option
@json_option
def convert(
    paths: tuple[Path, ...],
    kernels: tuple[str, ...],
    output: Path | None,
    write: bool,
    upto: str,
    schedule: str,
    tiles: str | None,
    tier: str,
    ungated: bool,
    as_json: bool,
) -> None:
    """Shows roles, diff, plan and verdict of the conversion of FILE; writes nothing unless told to."""
    if output and (write or len(paths) > 1):
        raise click.UsageError("-o takes one FILE and excludes --write")
    if output and output.resolve() == paths[0].resolve():
        raise click.UsageError("-o must not name FILE itself; use --write to bind the conversion there")
    job = Job(upto=Rung[upto.upper()])
    for path in paths:
        conversion = converted(path, kernels, schedule, profitable=not ungated, tiles=tiles, tier=tier)
        job.conversions.append(conversion)
        verified(job, conversion, partial(progress, quiet=as_json))
        if not as_json:
            show(*report(job, conversion, write))
        if conversion.converted and (output or write):
            save(job, conversion, path, output)
    finish(job, as_json)


def report(job: Job, conversion: FileConversion, write: bool) -> Iterator[RenderableType]:
    """Everything `convert` has to show about one file."""
    source = conversion.source
    for kernel in conversion.kernels:
        yield from describe(kernel, source)
    if conversion.converted:
        yield heading("diff")
        if write:
            beside = files.Written(Path(source.path)).sidecar
            yield diff(source.text, conversion.patched_source_text, source.path, source.path)
            yield diff("", conversion.sidecar_text, "/dev/null", str(beside))
        else:
            yield diff(source.text, conversion.module_text, source.path, "converted")
    yield from (finding(item, source) for item in conversion.diagnostics)
    for (path, _), verdict in job.verdicts.items():
        if path == source.path:
            yield heading("verdict")
            yield ladder(verdict)


def save(job: Job, conversion: FileConversion, path: Path, output: Path | None) -> None:
    """Writes what was converted, unless verification found a fault in it."""
    if job.failed(conversion):
        show(Text("nothing written: verification did not pass", "bold red"), err=True)
    elif output:
        files.write_atomic(output, conversion.module_text.encode())
        show(Text(f"wrote {output}"), err=True)
        save_proofs(job, conversion, files.proofs_beside(output))
    else:
        texts = conversion.source.text, conversion.patched_source_text, conversion.sidecar_text
        written = files.write_conversion(path, *texts)
        show(Text(f"wrote {written.source} and {written.sidecar}; backup {written.backup}"), err=True)
        save_proofs(job, conversion, written.proofs)


def save_proofs(job: Job, conversion: FileConversion, path: Path) -> None:
    """Records which of the written kernels gave their sources' bits, for launches under TLXIFY_POLICY=bitwise."""
    from .verify.proof import proofs

    text = proofs({name: verdict for (file, name), verdict in job.verdicts.items() if file == conversion.source.path})
    if text is not None:
        files.write_atomic(path, text.encode())
        show(Text(f"wrote {path}"), err=True)


@main.command()
@paths_argument
@kernel_option
@schedule_option
@tiles_option
@tier_option
@gate_option
@click.option("--shapes", multiple=True, metavar="M=4096,N=…", help="Say what limits these sizes (repeatable).")
@contract_option
@json_option
def analyze(
    paths: tuple[Path, ...],
    kernels: tuple[str, ...],
    schedule: str,
    tiles: str | None,
    tier: str,
    ungated: bool,
    shapes: tuple[str, ...],
    show_contract: bool,
    as_json: bool,
) -> None:
    """Shows which warps would run each statement of FILE, what limits it, the plan, and what stands in the way."""
    from .bench.shapes import Unknown, parse
    from .limits import limited

    try:
        sizes = [parse(text) for text in shapes]
    except Unknown as error:
        raise click.UsageError(str(error)) from error
    job = Job()
    for path in paths:
        conversion = converted(path, kernels, schedule, profitable=not ungated, tiles=tiles, tier=tier)
        conversion = limited(conversion, sizes)
        job.conversions.append(conversion)
        if not as_json:
            for kernel in conversion.kernels:
                show(*describe(kernel, conversion.source))
                show(*contracts(path, [kernel] if show_contract else []))
            show(*(finding(item, conversion.source) for item in conversion.diagnostics))
    finish(job, as_json)


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, path_type=Path))
@click.option("--verify", "upto", type=click.Choice(RUNGS), default="none", show_default=True, help="Prove up to here.")
@click.option("--output-dir", type=click.Path(path_type=Path), help="Write a converted copy of the tree there.")
@click.option("--write", is_flag=True, help="Bind conversions in the tree itself; each file keeps a backup FILE.orig.")
@click.option("--report-json", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as JSON.")
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds that one file may take.")
@click.option("--memory-limit", type=float, default=4.0, show_default=True, help="GiB that one process may take.")
@schedule_option
@tiles_option
@tier_option
@gate_option
def migrate(
    paths: tuple[Path, ...],
    upto: str,
    output_dir: Path | None,
    write: bool,
    report_json: Path | None,
    time_limit: float,
    memory_limit: float,
    schedule: str,
    tiles: str | None,
    tier: str,
    ungated: bool,
) -> None:
    """Converts every kernel below PATH, without running any; writes nothing unless told to.

    Exit status 1 if kernels were declined, 2 if tlxify itself failed on one; the others are reported all the same.
    Unprofitable kernels, which only the profit gate is against, are no findings.
    """
    from .migrate.pool import Limits
    from .migrate.report import report as as_report
    from .migrate.report import status
    from .migrate.run import Request, migrate
    from .render.migration import summary, watching

    if output_dir and write:
        raise click.UsageError("--output-dir and --write exclude each other")
    limits = Limits(seconds=time_limit, memory=int(memory_limit * (1 << 30)))
    request = Request(paths, schedule, not ungated, upto, output_dir, write, limits, tiles, tier)
    console = Console(stderr=True, highlight=False)
    if report_json and not report_json.resolve().parent.is_dir():
        raise click.UsageError(f"--report-json: there is no folder {report_json.resolve().parent}")
    with ended(), watching(console) as watch:
        done: list[FileRecord] = migrate(request, watch)
    show(*summary(done))
    if report_json:
        text = json.dumps(as_report(done, f"tlxify {version()}"), indent=2)
        files.write_atomic(report_json, f"{text}\n".encode())
    raise click.exceptions.Exit(status(done))


@main.command()
@path_argument
@kernel_option
@click.option("--stage", type=click.Choice(["kernel", "facts", "plan"]), required=True, help="What to print.")
@schedule_option
@tiles_option
@tier_option
@gate_option
def dump(
    path: Path, kernels: tuple[str, ...], stage: str, schedule: str, tiles: str | None, tier: str, ungated: bool
) -> None:
    """Prints one stage of the pipeline for FILE, field by field."""
    if stage == "plan":
        conversion = converted(path, kernels, schedule, profitable=not ungated, tiles=tiles, tier=tier)
        values: Iterable[object] = [kernel.plan for kernel in conversion.kernels if kernel.plan is not None]
        refused = [*conversion.diagnostics, *(item for kernel in conversion.kernels for item in kernel.diagnostics)]
        source = conversion.source
    else:
        from .pipeline import analyze as analyze_source

        found = read(path)
        if isinstance(found, FileConversion):
            values, refused, source = [], list(found.diagnostics), found.source
        else:
            values, refused, source = [], [], found
            try:
                names = kernels or (None,)
                values = [getattr(item, stage) for name in names for item in analyze_source(found, name)]
            except Decline as refusal:
                refused = [refusal.diagnostic]
    for value in values:
        click.echo(outline(value))
    show(*(finding(item, source) for item in refused), err=True)
    if any(item.code in UNUSABLE for item in refused):
        raise click.exceptions.Exit(2)
    raise click.exceptions.Exit(int(any(item.outcome in ("declined", "error") for item in refused)))


@main.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explains a diagnostic CODE; without one, lists all."""
    from rich.markdown import Markdown

    from .render.page import index, page

    if code is not None and code.upper() not in CATALOGUE:
        raise click.UsageError(f"unknown code {code!r}; `tlxify explain` lists all")
    text = page(CATALOGUE[code.upper()]) if code else index(CATALOGUE.values())
    if sys.stdout.isatty():
        show(Markdown(text))
    else:
        click.echo(text, nl=False)


for command in (verify, capture, profile, bench):
    main.add_command(command)


@main.command()
def doctor() -> None:
    """Says what this environment can do, and what to change."""
    from .doctor import examine
    from .render.health import health

    checks = examine()
    show(health(checks))
    raise click.exceptions.Exit(int(any(check.state == "action" for check in checks)))


@main.command()
@path_argument
@click.option("--force", is_flag=True, help="Also if FILE was edited since; those edits are lost.")
def revert(path: Path, force: bool) -> None:
    """Undoes `convert --write`: FILE gets its original bytes back."""
    written = files.revert(path, force=force)
    show(Text(f"restored {written.source}; removed {written.sidecar} and {written.backup}"), err=True)
