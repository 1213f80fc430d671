"""``python -m tlx``."""

from __future__ import annotations

import click

from .running import run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """TLX kernels on an unmodified Triton."""


main.add_command(run)

if __name__ == "__main__":
    main(prog_name="python -m tlx")
