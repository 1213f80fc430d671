"""What `tlxify doctor` shows."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from ..doctor import Check

MARKS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "action": ("✗", "bold red")}


def health(checks: Iterable[Check]) -> Table:
    """One line per check: mark, name, what was found, what to do."""
    table = Table.grid(padding=(0, 2))
    for check in checks:
        mark, look = MARKS[check.state]
        table.add_row(Text(mark, look), Text(check.name, "bold"), Text(check.text), Text(check.remedy, "dim"))
    return table
