"""``python -m tlx run FILE``: a third-party TLX program, unchanged, on a stock Triton."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click

from .install import InstallError, install


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(file: str, args: tuple[str, ...]) -> None:
    """Run FILE with ARGS as `python FILE ARGS` would, after tlx.install()."""
    try:
        install()
    except InstallError as error:
        raise click.ClickException(str(error)) from None
    sys.argv = [file, *args]
    sys.path[0] = str(Path(file).resolve().parent)
    runpy.run_path(file, run_name="__main__")
