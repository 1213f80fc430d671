"""Early returns in the tree of a function: what follows an `if` that may leave stands in its other arm.

What: rebuilds the blocks of the function as the model's statements are nested.
Why: a role is cut out of nested arms; in a tile loop, leaving the kernel would mean leaving the other tiles as well.
Before: `if pid >= tiles: return`, then the rest of the kernel.
After: `if pid >= tiles: return` with the rest under `else:`; a role that has nothing to do before it returns turns the
condition round.
When refused: never; a return inside a loop has no plan.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from ..model import Branch, Kernel, Node, Statement
from ..source import Span
from .comments import blank, leading, with_leading
from .function import FunctionText, parse_function
from .lines import statements


def structured(kernel: Kernel) -> FunctionText:
    """The kernel's text, with its statements nested as the model has them."""
    text = parse_function(kernel)
    if not any(isinstance(node, ast.Return) for node in ast.walk(kernel.node)):
        return text
    body = text.function.body
    assert isinstance(body, cst.IndentedBlock)
    rebuilt = body.with_changes(body=_Rebuild(text).block(kernel.body))
    return FunctionText(text.module, text.function.with_changes(body=rebuilt), text.spans)


class _Rebuild:
    def __init__(self, text: FunctionText) -> None:
        self.text = text
        self.found: dict[Span, cst.BaseStatement | cst.If] = {}
        text.function.body.visit(_Statements(self))

    def block(self, nodes: Sequence[Node]) -> list[cst.BaseStatement]:
        return [self.one(node) for node in nodes]

    def one(self, node: Node) -> cst.BaseStatement:
        written = self.found.get(node.span)
        match node:
            case Branch(span=span, body=body, orelse=orelse):
                if isinstance(written, cst.If):
                    return self.arms(written, span, body, orelse)
                asked = self.new(f"if {ast.unparse(node.node.test)}:\n    pass", span)
                assert isinstance(asked, cst.If)
                return self.arms(asked, span, body, ())
            case Statement(span=span, node=ast.Assign() as flag) if _is_flag(flag):
                made = self.new(ast.unparse(flag), span)
                if not isinstance(written, cst.SimpleStatementLine) or not isinstance(made, cst.SimpleStatementLine):
                    return made
                return written.with_changes(body=made.body)  # in the return's line, with what is said there
            case _:
                assert isinstance(written, cst.BaseStatement)
                return written

    def arms(self, written: cst.If, span: Span, body: Sequence[Node], orelse: Sequence[Node]) -> cst.If:
        suite = written.body
        assert isinstance(suite, cst.IndentedBlock | cst.SimpleStatementSuite)
        inner = self.block(body)
        after: cst.If | cst.Else | None = None
        if orelse:
            rest = self.block(orelse)
            first, otherwise = rest[0], written.orelse
            if isinstance(otherwise, cst.If) and len(rest) == 1 and isinstance(first, cst.If):
                after = first.with_changes(leading_lines=otherwise.leading_lines)
                self.text.spans[after] = orelse[0].span
            elif isinstance(otherwise, cst.Else) and isinstance(otherwise.body, cst.IndentedBlock):
                after = otherwise.with_changes(body=otherwise.body.with_changes(body=rest))
            else:
                rest[0] = self.moved(first, orelse[0].span)
                after = cst.Else(body=cst.IndentedBlock(body=rest))
        block = suite if isinstance(suite, cst.IndentedBlock) else cst.IndentedBlock(())
        result = written.with_changes(body=block.with_changes(body=inner), orelse=after)
        self.text.spans[result] = span
        return result

    def moved(self, first: cst.BaseStatement, span: Span) -> cst.BaseStatement:
        """The first statement of a new arm: its blank line stood between it and the `if`."""
        lines = [line for line in leading(first) if line not in blank(leading(first)) and line.comment is not None]
        result = with_leading(first, lines)
        self.text.spans[result] = span
        if isinstance(first, cst.SimpleStatementLine) and isinstance(result, cst.SimpleStatementLine):
            for old, new in zip(first.body, result.body, strict=True):
                self.text.spans[new] = self.text.spans[old]
        return result

    def new(self, code: str, span: Span) -> cst.BaseStatement:
        (made,) = statements(code)
        self.text.spans[made] = span
        if isinstance(made, cst.SimpleStatementLine):
            self.text.spans[made.body[0]] = span
        return made


class _Statements(cst.CSTVisitor):
    """Every statement by its place; several in one line are lines of their own."""

    def __init__(self, rebuild: _Rebuild) -> None:
        self.rebuild = rebuild

    def visit_If(self, node: cst.If) -> None:
        self.rebuild.found[self.rebuild.text.span(node)] = node

    def visit_For(self, node: cst.For) -> None:
        self.rebuild.found[self.rebuild.text.span(node)] = node

    def visit_While(self, node: cst.While) -> None:
        self.rebuild.found[self.rebuild.text.span(node)] = node

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        self.lines(node.body, node.trailing_whitespace, node.leading_lines, node)

    def visit_SimpleStatementSuite(self, node: cst.SimpleStatementSuite) -> None:
        self.lines(node.body, node.trailing_whitespace, (), None)

    def lines(
        self,
        parts: Sequence[cst.BaseSmallStatement],
        end: cst.TrailingWhitespace,
        above: Sequence[cst.EmptyLine],
        whole: cst.SimpleStatementLine | None,
    ) -> None:
        for number, small in enumerate(parts):
            line = whole
            if whole is None or len(parts) > 1:
                alone = small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
                self.rebuild.text.spans[alone] = self.rebuild.text.spans[small]
                line = cst.SimpleStatementLine(body=[alone], leading_lines=above if number == 0 else ())
                if number == len(parts) - 1:
                    line = line.with_changes(trailing_whitespace=end)
            assert line is not None
            self.rebuild.found[self.rebuild.text.spans[small]] = line


def _is_flag(node: ast.Assign) -> bool:
    """An assignment that no line of the source makes: its target has the place of the whole statement."""
    return Span.of(node.targets[0]) == Span.of(node)
