"""What the commands share: how they print, what they say while they work, their common options, how they end."""

from __future__ import annotations

import importlib.metadata
import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console, RenderableType
from rich.text import Text

from .config import TILES, contracts_of
from .job import Job
from .outcome import KernelOutcome
from .render.as_json import SCHEMA, file_data
from .render.contract import contract_text
from .verdict import Rung

RUNGS = [rung.name.lower() for rung in Rung]
#: Wide enough for every line when nobody watches: piped output is never cut.
PIPED_WIDTH = 500


def version() -> str:
    """The installed version."""
    try:
        return importlib.metadata.version("tlxify")
    except importlib.metadata.PackageNotFoundError:
        return "unknown (not installed)"


def show(*parts: RenderableType, err: bool = False) -> None:
    """Prints renderables to stdout or stderr."""
    console = Console(stderr=err, highlight=False)
    for part in parts:
        if console.is_terminal or isinstance(part, str | Text):
            console.print(part, soft_wrap=isinstance(part, str | Text))
        else:
            # Tables pad their cells; in a file or a pipe that is only noise.
            wide = Console(width=PIPED_WIDTH, highlight=False, no_color=True)
            with wide.capture() as captured:
                wide.print(part)
            for line in captured.get().splitlines():
                click.echo(line.rstrip(), err=err)


class ToolError(click.ClickException):
    """The tool could not do its job."""

    exit_code = 2


@contextmanager
def ended() -> Iterator[None]:
    """Ends the work as Ctrl-C would when somebody else ends the process: with nothing half done left behind."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    mine = threading.current_thread() is threading.main_thread()
    # Who starts a command to outlive a terminal (`nohup`) has the signal ignored; that stays so.
    wanted = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None and mine]
    before = {number: signal.getsignal(number) for number in wanted}
    try:
        for number, handler in before.items():
            if handler is signal.SIG_DFL:
                signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def progress(text: str, quiet: bool) -> Iterator[Callable[..., None]]:
    """A callback that shows what is being done on stderr, while somebody watches."""
    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal:
        yield lambda *_: None
        return
    with console.status(text) as status:
        yield lambda *words: status.update(f"{text}: {' '.join(map(str, words))}")


def heading(text: str) -> Text:
    """A line that starts a part of the report."""
    return Text(f"\n── {text} ──", "bold")


def contracts(path: Path, kernels: Iterable[KernelOutcome]) -> Iterator[RenderableType]:
    """The contracts of the kernels that have one, as their project's pyproject.toml would say them."""
    file = contracts_of(path).file
    yield from (Text("\n" + contract_text(k.contract, file)) for k in kernels if k.contract is not None)


def finish(job: Job, as_json: bool) -> None:
    """Prints the JSON if asked for, and exits."""
    if as_json:
        by_file = [
            file_data(
                item, {name: verdict for (path, name), verdict in job.verdicts.items() if path == item.source.path}
            )
            for item in job.conversions
        ]
        click.echo(json.dumps({"schema": SCHEMA, "tool": f"tlxify {version()}", "files": by_file}, indent=2))
    raise click.exceptions.Exit(job.status())


paths_argument = click.argument(
    "paths", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
path_argument = click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
kernel_option = click.option(
    "--kernel", "kernels", multiple=True, metavar="NAME", help="Only this kernel (repeatable)."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON instead.")
schedule_option = click.option(
    "--schedule",
    type=click.Choice(["auto", "persistent", "cooperative", "pingpong", "ordered", "lean"]),
    default="auto",
    show_default=True,
    help="`auto` is what has been measured to be fastest. `persistent` and `cooperative` do or do not loop over tiles; "
    "with `pingpong` consumer groups take turns; with `ordered` every dot stays where the source has it; "
    "with `lean` the producer is one warp.",
)
tiles_option = click.option(
    "--tiles",
    type=click.Choice(TILES),
    help="Let the tuner also try tiles of our own, or only the user's. [default: own, or as pyproject.toml says]",
)
tier_option = click.option(
    "--tier",
    type=click.Choice(["tlx", "descriptors"]),
    default="tlx",
    show_default=True,
    help="Warp-specialized TLX, or plain Triton that loads through descriptors (also without a dot).",
)
contract_option = click.option(
    "--show-contract", is_flag=True, help="Also show what each parameter was taken for, and what a valid launch is."
)
gate_option = click.option(
    "--no-profit-gate", "ungated", is_flag=True, help="Convert also what is not expected to become faster."
)
