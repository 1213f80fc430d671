"""The role map: each line of a kernel with the warps that run it, and why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..outcome import RoleLine

#: Role → style and meaning, in the order in which the legend and a line's label name them.
ROLES: dict[str, tuple[str, str]] = {
    "producer": ("cyan", "asks the TMA for tiles"),
    "transform": ("yellow", "computes an operand from tiles, into a ring"),
    "consumer": ("green", "multiplies tiles"),
    "epilogue": ("magenta", "finishes the accumulator and stores it"),
    "address": ("blue", "became part of a descriptor"),
    "dead": ("bright_black", "needed by no role any more"),
}
SHARED = "bold"


def label(roles: Iterable[str]) -> str:
    """The roles of a line in one word: "producer", "producer+consumer", or "" for a line that is not code."""
    given = set(roles)
    return "+".join([role for role in ROLES if role in given] + sorted(given - ROLES.keys()))


def style(roles: Iterable[str]) -> str:
    """How a line with these roles looks: the colour of its role, bold where several share it."""
    known = [role for role in ROLES if role in set(roles)]
    if len(known) > 1:
        return SHARED
    return ROLES[known[0]][0] if known else "dim"


def _number(line: RoleLine) -> str:
    return str(line.line) if line.file is None else f"{PurePath(line.file).name}:{line.line}"


def role_map(lines: Iterable[RoleLine]) -> RenderableType:
    """The role map with its legend below."""
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    lines = tuple(lines)
    for line in lines:
        look = style(line.roles)
        table.add_row(
            _number(line), Text(label(line.roles), style=look), Text(line.text or " ", style=look), Text(line.why)
        )
    used = {role for line in lines for role in line.roles}
    legend = Table.grid(padding=(0, 1))
    for role, (look, meaning) in ROLES.items():
        if role in used:
            legend.add_row(Text(role, style=look), Text(meaning, style="dim"))
    return Group(table, Text(), legend)
