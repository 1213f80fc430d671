"""A unified diff in colour."""

from __future__ import annotations

import difflib

from rich.text import Text

STYLES = {"+": "green", "-": "red", "@": "cyan"}


def unified(before: str, after: str, before_name: str, after_name: str) -> str:
    """The unified diff of two texts; empty if they are equal. `patch` accepts it, also without a last line end."""
    lines: list[str] = []
    for line in difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), before_name, after_name
    ):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def diff(before: str, after: str, before_name: str, after_name: str) -> Text:
    """The same, coloured."""
    text = Text(no_wrap=True, overflow="ignore")
    for line in unified(before, after, before_name, after_name).splitlines(keepends=True):
        heading = line.startswith(("--- ", "+++ "))
        text.append(line, "bold" if heading else STYLES.get(line[:1], ""))
    return text
