"""A kernel cut out of its file so that each of its lines keeps its number: what findings name is what the user sees.

Where another file's helpers are needed they come last, behind the end of the file.
"""

from __future__ import annotations

import ast
import re

from .diagnostics import Decline
from .model import Constant, Helper, Kernel
from .reach import reach
from .slice import Slice, cut


def cut_in_place(kernel: Kernel) -> str:
    """A module with the kernel, its helpers and its constants in their lines, and nothing else of the file.

    Raises Decline TLX107 for a name that cannot be brought along, or if the imports find no line of their own.
    """
    piece, source = cut(kernel), kernel.module.source
    functions, constants = [kernel.node], {}
    for use in reach(kernel):
        match use.meaning:
            case Helper(node=node, module=module) if module.source.path == source.path:
                functions.append(node)
            case Constant(span=span, module=module) if module.source.path == source.path:
                constants[span.line] = span
    given = source.lines()
    lines = [""] * len(given)
    for node in functions:
        first = node.lineno - 1
        lines[first - 1] = "@triton.jit"
        for number in range(first, node.end_lineno or first):
            line = given[number].rstrip("\r\n")
            lines[number] = line[node.col_offset :] if not line[: node.col_offset].strip() else line
    for span in constants.values():
        lines[span.line - 1 : span.end_line] = source.segment(span).splitlines()
    if lines[0]:
        raise Decline("TLX107", None, name=kernel.name, why="line 1 of the file has no room for imports")
    lines[0] = "; ".join(piece.imports)
    own = {ast.unparse(ast.parse(source.segment(span))) for span in constants.values()}
    names = {node.name for node in functions}
    foreign = [text for text in piece.constants if ast.unparse(ast.parse(text)) not in own]
    foreign += [text for text in piece.helpers if not _defines(text, names)]
    return "\n".join([*lines, *foreign, *piece.bindings]) + "\n"


def uses_tlx(piece: Slice) -> bool:
    """Whether a kernel or one of its helpers names anything of TLX."""
    return any(re.search(r"\btlx\b", line) for line in piece.imports)


def _defines(text: str, names: set[str]) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name in names for node in ast.parse(text).body)
