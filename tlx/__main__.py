"""``python -m tlx``: a table of subcommands, each imported when it is called."""

from __future__ import annotations

import importlib

import click

#: name → (module, attribute, one line of help)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "run": ("tlx.running", "run", "Run a file written for Meta's TLX, unchanged, on this Triton."),
    "sim": ("tlx.sim.tool.command", "sim", "Simulate a file's kernel launches on the CPU; find races and deadlocks."),
}


class Table(click.Group):
    """Commands that are imported late: one that is not called may miss what it needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of the alphabet."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, if there is one."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        try:
            command: click.Command = getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            # Where another package has overwritten files of ours, that is what is wrong, whatever Python missed first.
            if damaged := importlib.import_module("tlx.neighbours").intrusions():
                raise click.ClickException("; ".join(map(str, damaged))) from error
            raise
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table itself, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in sorted(COMMANDS)])


@click.group(cls=Table, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """TLX on an unmodified Triton."""


if __name__ == "__main__":
    main(prog_name="python -m tlx")
