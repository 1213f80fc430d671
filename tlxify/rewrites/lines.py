"""Generated lines: parsing them into libcst nodes, and the one place where generated code gets its layout.

What: text to statements, and functions to text of a given width.
Why: layout is black's at the line length of the user's project: a formatter run there leaves a conversion as it is.
Before: `tlx.barrier_wait(full[slot],(k//STAGES)&1)`.
After: `tlx.barrier_wait(full[slot], (k // STAGES) & 1)`.
When refused: never; what is parsed here was generated here.
"""

from __future__ import annotations

import functools

import libcst as cst

#: black's own default.
WIDTH = 88


def choice(flag: str | None, yes: str, no: str) -> str:
    """`yes if flag else no`; without a flag, `no`."""
    return no if flag is None or yes == no else f"{yes} if {flag} else {no}"


def operand(text: str) -> str:
    """`text` as one side of a comparison."""
    loose = cst.IfExp | cst.BooleanOperation | cst.Comparison | cst.Lambda | cst.NamedExpr
    return f"({text})" if isinstance(cst.parse_expression(text), loose) else text


def statements(text: str) -> list[cst.BaseStatement]:
    """The statements of a text; comments above the first one stay with it."""
    module = cst.parse_module(text)
    body = list(module.body)
    if body and module.header:
        body[0] = body[0].with_changes(leading_lines=[*module.header, *getattr(body[0], "leading_lines", ())])
    return body  # type: ignore[return-value]


@functools.lru_cache(maxsize=256)
def formatted(text: str, width: int = WIDTH) -> str:
    """The text as black lays it out, without white space around it. Remembered: it is most of what converting takes."""
    import black
    from black.mode import Mode, TargetVersion

    mode = Mode(line_length=width, target_versions={TargetVersion.PY310})
    return black.format_str(text, mode=mode).strip("\n")
