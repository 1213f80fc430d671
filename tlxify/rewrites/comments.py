"""No comment of the source is lost: what belongs to a statement that no role keeps moves to the next one that stays.

What: finds the comments above, behind and inside a statement, and puts lines above another.
Why: a comment is the part of a kernel that no analysis can write again.
Before: `offs_k = tl.arange(0, BLOCK_K)  # depth of a tile`, dropped because a descriptor replaces the address.
After: `# depth of a tile` above the next statement of the role that adopts it.
When refused: never.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

Line = cst.EmptyLine


def comments_in(node: cst.CSTNode) -> list[str]:
    """Every comment in a node, in order."""
    collector = _Collector()
    node.visit(collector)
    return collector.found


class _Collector(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found.append(node.value)


def comment_lines(texts: Sequence[str]) -> list[Line]:
    """Comment lines at the current indentation."""
    return [cst.EmptyLine(indent=True, comment=cst.Comment(text)) for text in texts]


Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


def leading(statement: cst.BaseStatement) -> list[Line]:
    """The lines above a statement."""
    return list(getattr(statement, "leading_lines", ()))


def with_leading(statement: cst.BaseStatement, lines: Sequence[Line]) -> cst.BaseStatement:
    """The statement with these lines above it."""
    return statement.with_changes(leading_lines=list(lines))


def trailing(statement: cst.BaseStatement) -> list[str]:
    """Comments of a simple statement that are not above it: behind it or inside its brackets."""
    above = [line.comment.value for line in leading(statement) if line.comment is not None]
    every = comments_in(statement)
    return every[len(above) :]


def blank(lines: Sequence[Line]) -> list[Line]:
    """The leading blank lines alone, at most one."""
    return [cst.EmptyLine(indent=False)] if any(line.comment is None for line in lines) else []
