"""Generated lines: calls that break like black breaks them, and parsing them back into libcst nodes."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

#: Longest line that is left on one line; black's default.
WIDTH = 88


def call(function: str, arguments: Sequence[str], *, prefix: str = "", indent: int = 0) -> str:
    """`prefix function(arguments)`, on one line if it fits, else one argument a line with a trailing comma."""
    flat = f"{prefix}{function}({', '.join(arguments)})"
    if indent + len(flat) <= WIDTH:
        return flat
    inner = ", ".join(arguments)
    if indent + 4 + len(inner) <= WIDTH:
        return f"{prefix}{function}(\n    {inner}\n)"
    return f"{prefix}{function}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def choice(flag: str | None, yes: str, no: str) -> str:
    """`yes if flag else no`; without a flag, `no`."""
    return no if flag is None or yes == no else f"{yes} if {flag} else {no}"


def statements(text: str) -> list[cst.BaseStatement]:
    """The statements of a text; comments above the first one stay with it."""
    module = cst.parse_module(text)
    body = list(module.body)
    if body and module.header:
        body[0] = body[0].with_changes(leading_lines=[*module.header, *getattr(body[0], "leading_lines", ())])
    return body  # type: ignore[return-value]
