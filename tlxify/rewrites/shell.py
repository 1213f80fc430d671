"""What stands around a converted kernel's body, whatever schedule it has.

What: comments between decorators, the layout of the signature, and how accesses that are written out call Triton.
Why: the user's remarks survive above the function as they do inside it.
Before: `# tuned on H100` between two decorators of the source.
After: the same line between the converted kernel's decorator and its `def`.
When refused: never; nothing is decided here.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from ..plan import WrittenOut
from .comments import comment_lines, comments_in


def called(access: WrittenOut, tl: str) -> WrittenOut:
    """The access with its function as the module calls it."""
    return replace(access, function=f"{tl}.{access.function}") if access.function else access


def before_params(function: cst.FunctionDef) -> cst.ParenthesizedWhitespace:
    """A line break behind the opening parenthesis, with what is said there."""
    said, last = function.whitespace_before_params, cst.SimpleWhitespace("    ")
    if isinstance(said, cst.ParenthesizedWhitespace) and comments_in(said):
        return said.with_changes(indent=True, last_line=last)
    return cst.ParenthesizedWhitespace(indent=True, last_line=last)


def decorator_comments(function: cst.FunctionDef) -> list[cst.EmptyLine]:
    """Comments between the source's decorators: those stay with the original, what was said about them is kept."""
    texts = [c for decorator in function.decorators[:1] for c in comments_in(decorator.trailing_whitespace)]
    texts += [c for decorator in function.decorators[1:] for c in comments_in(decorator)]
    texts += [c for line in function.lines_after_decorators for c in comments_in(line)]
    return comment_lines(texts)
