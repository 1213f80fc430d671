"""Diagnostics in colour. The words are those of `tlxify.diagnostics.render`."""

from __future__ import annotations

from rich.text import Text

from ..diagnostics import Diagnostic, render
from ..source import SourceFile

STYLES = {"declined": "bold red", "unprofitable": "yellow", "no-dot": "dim", "warning": "yellow", "error": "bold red"}


def finding(diagnostic: Diagnostic, source: SourceFile) -> Text:
    """One diagnostic: heading, fact, the user's line with carets, remedy."""
    text = Text()
    for number, line in enumerate(render(diagnostic, source).splitlines()):
        look = ""
        if number == 0:
            look = STYLES[diagnostic.outcome]
        elif set(line.strip(" |")) == {"^"}:
            look = "red"
        elif line.startswith("  more:"):
            look = "dim"
        text.append(f"{line}\n", look)
    return text
