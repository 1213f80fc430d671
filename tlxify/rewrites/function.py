"""A kernel's own text as a libcst tree, with every node findable by its span in the user's file.

What: the tree of one function, and the place in the file of each of its nodes.
Why: libcst's position provider is slow, and one function is all that is rewritten: the rest is never parsed by it.
Before: the file as text, where plan and facts name places by line and column.
After: a `FunctionText`, moved to the left margin, whose spans still count in the file.
When refused: never; the file has been parsed before.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from ..model import Kernel
from ..source import Span


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function's tree and where its nodes come from."""

    module: cst.Module
    function: cst.FunctionDef
    spans: dict[cst.CSTNode, Span]

    def span(self, node: cst.CSTNode) -> Span:
        """The node's place in the user's file. A line with one small statement has that statement's place."""
        if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
            return self.spans[node.body[0]]
        return self.spans[node]


def parse_function(kernel: Kernel) -> FunctionText:
    """The kernel's text from its first decorator on, moved to the left margin."""
    first, last = kernel.span.line, kernel.span.end_line
    lines = [line.rstrip("\r\n") for line in kernel.module.source.lines()[first - 1 : last]]
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines) + "\n"
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    text_lines = text.split("\n")

    def at(line: int, column: int) -> tuple[int, int]:
        # libcst counts characters, `ast` counts bytes.
        return line + first - 1, len(text_lines[line - 1][:column].encode()) + indent if line <= len(text_lines) else 0

    spans: dict[cst.CSTNode, Span] = {}
    for node, position in wrapper.resolve(PositionProvider).items():
        start, end = at(position.start.line, position.start.column), at(position.end.line, position.end.column)
        spans[node] = Span(*start, *end)
    function = wrapper.module.body[0]
    assert isinstance(function, cst.FunctionDef)
    return FunctionText(wrapper.module, function, spans)
