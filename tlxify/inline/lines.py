"""How the lines of written-out code stand: one statement each, with what was said above them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from .trees import Block, Copy, comment_lines, leading


class OneALine(Copy):
    """Each small statement on a line of its own."""

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        """`a; b` as two lines."""
        if len(updated_node.body) == 1:
            return updated_node
        lines = [self.origins.line(small) for small in updated_node.body]
        lines[0] = lines[0].with_changes(leading_lines=updated_node.leading_lines)
        lines[-1] = lines[-1].with_changes(trailing_whitespace=updated_node.trailing_whitespace)
        return cst.FlattenSentinel(lines)

    def leave_SimpleStatementSuite(
        self, original_node: cst.SimpleStatementSuite, updated_node: cst.SimpleStatementSuite
    ) -> cst.IndentedBlock:
        """`if c: a; b` as three lines."""
        lines = [self.origins.line(small) for small in updated_node.body]
        lines[-1] = lines[-1].with_changes(trailing_whitespace=updated_node.trailing_whitespace)
        return cst.IndentedBlock(lines)


def above(block: Block, lines: Iterable[cst.EmptyLine], already: cst.BaseStatement | None = None) -> Block:
    """The block with these lines above it, which may stand above its last statement so far."""
    if not block or block[0] is already:
        return block
    if already is not None:
        block[-1] = already.with_changes(leading_lines=[])
    block[0] = block[0].with_changes(leading_lines=[*lines, *_without_blank(leading(block[0]))])
    return block


def _without_blank(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """What is said above a statement, without the blank line that set it off from what is no longer above it."""
    kept = list(lines)
    while kept and kept[0].comment is None:
        kept.pop(0)
    return kept


def spoken(block: Block) -> Block:
    """A body with the first line of its docstring as a comment."""
    match block:
        case [cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() as text)]), *rest]:
            words = str(text.evaluated_value).strip().splitlines()
            if rest and words:
                rest[0] = rest[0].with_changes(leading_lines=[*comment_lines([f"# {words[0]}"]), *leading(rest[0])])
            return rest
    return block
