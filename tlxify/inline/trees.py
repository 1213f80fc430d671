"""Functions as libcst trees in which every node knows where the user wrote it, also after it was copied and changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from ..source import Origin, SourceFile, Span

Block = list[cst.BaseStatement]
Suite = cst.IndentedBlock | cst.SimpleStatementSuite


class Origins:
    """Where nodes were written. A node that is made up has the place of what it stands for."""

    def __init__(self) -> None:
        self._of: dict[cst.CSTNode, Origin] = {}

    def read(self, source: SourceFile, first: int, last: int) -> cst.FunctionDef:
        """The function in lines `first` to `last` of a file, moved to the left margin."""
        lines = [line.rstrip("\r\n") for line in source.lines()[first - 1 : last]]
        indent = len(lines[0]) - len(lines[0].lstrip())
        text = "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines) + "\n"
        module = cst.parse_module(text)
        below = first - 1
        for node, span in positions(module).items():
            start, end = (span.line + below, span.column + indent), (span.end_line + below, span.end_column + indent)
            self._of[node] = Origin(source, Span(*start, *end))
        function = module.body[0]
        assert isinstance(function, cst.FunctionDef)
        return function

    def line(self, small: cst.BaseSmallStatement) -> cst.SimpleStatementLine:
        """A small statement as a line, where the statement was."""
        made = line_of(small)
        self.carry(small, made.body[0])
        return made

    def carry(self, node: cst.CSTNode, copy: cst.CSTNode) -> None:
        """Says that `copy` stands for `node`, unless it has a place of its own."""
        if copy not in self._of and (known := self._of.get(node)) is not None:
            self._of[copy] = known

    def move(self, node: cst.CSTNode, to: cst.CSTNode) -> None:
        """Says that `node` stands where `to` was written."""
        if (known := self._of.get(to)) is not None:
            self._of[node] = known

    def changed(self, node: cst.CSTNodeT, **changes: object) -> cst.CSTNodeT:
        """A node with other parts, at the place of the old one."""
        result = node.with_changes(**changes)
        self.carry(node, result)
        return result

    def at(self, node: cst.CSTNode) -> Origin:
        """Where a node was written. A line with one small statement has that statement's place."""
        if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
            node = node.body[0]
        return self._of[node]

    def settled(self, function: cst.FunctionDef, above: int) -> tuple[str, Mapping[Span, Origin]]:
        """The text of a function, and where each stretch of it comes from, if it stands below `above` other lines."""
        module = cst.Module([Copy(self).of(function)], header=[], footer=[])
        found: dict[Span, Origin] = {}
        for node, span in positions(module).items():
            if (known := self._of.get(node)) is not None:
                found[Span(span.line + above, span.column, span.end_line + above, span.end_column)] = known
        return module.code, found


class Copy(cst.CSTTransformer):
    """A fresh copy of a tree: no node may stand in two places."""

    def __init__(self, origins: Origins) -> None:
        super().__init__()
        self.origins = origins

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        """Keeps the place of what was copied."""
        result = super().on_leave(original_node, updated_node)
        if isinstance(result, cst.CSTNode):
            self.origins.carry(original_node, result)
        return result

    def of(self, node: cst.CSTNodeT) -> cst.CSTNodeT:
        """The copy of one tree."""
        result = node.visit(self)
        assert isinstance(result, cst.CSTNode)
        return result


def positions(module: cst.Module) -> dict[cst.CSTNode, Span]:
    """The place of each node in the text of its module, columns in UTF-8 bytes as `ast` counts them."""
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    lines = module.code.split("\n")

    def byte(line: int, column: int) -> int:
        return len(lines[line - 1][:column].encode()) if line <= len(lines) else 0

    return {
        node: Span(
            found.start.line,
            byte(found.start.line, found.start.column),
            found.end.line,
            byte(found.end.line, found.end.column),
        )
        for node, found in wrapper.resolve(PositionProvider).items()
    }


def body_of(suite: cst.BaseSuite) -> Block:
    """The statements of a suite, each small statement of `if c: a; b` as a line of its own."""
    if isinstance(suite, cst.IndentedBlock):
        return list(suite.body)
    assert isinstance(suite, cst.SimpleStatementSuite)
    lines = [line_of(small) for small in suite.body]
    lines[-1] = lines[-1].with_changes(trailing_whitespace=suite.trailing_whitespace)
    return [*lines]


def line_of(small: cst.BaseSmallStatement) -> cst.SimpleStatementLine:
    """A small statement as a line."""
    if isinstance(small.semicolon, cst.Semicolon):
        small = small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    return cst.SimpleStatementLine([small])


def suite(block: Sequence[cst.BaseStatement], like: cst.BaseSuite | None = None) -> cst.IndentedBlock:
    """Statements as an indented block, with the header and footer of the suite that they come from."""
    body = list(block) or [cst.SimpleStatementLine([cst.Pass()])]
    return like.with_changes(body=body) if isinstance(like, cst.IndentedBlock) else cst.IndentedBlock(body)


def otherwise(statement: cst.If) -> Block:
    """The statements of the other arm of an `if`: of an `elif`, that one alone."""
    match statement.orelse:
        case cst.Else(body=inner):
            return body_of(inner)
        case cst.If() as following:
            return [following]
        case _:
            return []


def with_arms(origins: Origins, statement: cst.If, body: Block, orelse: Block) -> cst.If:
    """An `if` with other arms. One `if` alone in the second arm is an `elif`, unless the user wrote it otherwise."""
    before = statement.orelse
    after: cst.If | cst.Else | None = None
    if orelse:
        first = orelse[0]
        if not isinstance(before, cst.Else) and len(orelse) == 1 and isinstance(first, cst.If):
            after = first
        elif isinstance(before, cst.Else):
            after = before.with_changes(body=suite(orelse, before.body))
        else:
            after = cst.Else(body=suite(orelse))
    return origins.changed(statement, body=suite(body, statement.body), orelse=after)


def chain_of(node: cst.CSTNode) -> str | None:
    """`a`, `a.b`, `a.b.c` for a name or attributes of one; None for any other node."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute) and (head := chain_of(node.value)) is not None:
        return f"{head}.{node.attr.value}"
    return None


def code(node: cst.CSTNode) -> str:
    """The text of a node."""
    return cst.Module([]).code_for_node(node)


def comments_in(node: cst.CSTNode) -> list[str]:
    """Every comment in a node, in order."""
    if isinstance(node, cst.Comment):
        return [node.value]
    return [comment for child in node.children for comment in comments_in(child)]


def comment_lines(texts: Sequence[str]) -> list[cst.EmptyLine]:
    """Comment lines at the indentation of what follows them."""
    return [cst.EmptyLine(comment=cst.Comment(text)) for text in texts]


def leading(statement: cst.BaseStatement) -> list[cst.EmptyLine]:
    """The comment lines and blank lines above a statement."""
    return list(getattr(statement, "leading_lines", ()))


def closed(value: cst.BaseExpression) -> cst.BaseExpression:
    """A value with brackets around it, where it may need them inside of another."""
    plain = cst.Name | cst.Call | cst.Attribute | cst.Subscript | cst.Integer | cst.Float
    if value.lpar or isinstance(value, plain):
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
