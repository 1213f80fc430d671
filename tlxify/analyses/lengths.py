"""Lengths of axes that the source reads as numbers, and promises about as many positions.

Where consumer groups divide the rows of a tile, each of them holds fewer: `acc.shape[0]` is not what it was. Each such
place is noted with what has to stand there then; where nothing can, the axis is not one whose rows are divided.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..facts import LengthRead
from ..poly import ONE
from ..source import Span
from .values import Value, number

if TYPE_CHECKING:
    from .interpret import Interpreter

#: A promise about so few positions holds for the rows of a group as well: it begins at a multiple of them.
_FEW = 16


def shape(run: Interpreter, node: ast.Attribute) -> tuple[ast.expr, Value]:
    """The block that `block.shape` or `block.type.shape` is about, with where it stands. Raises Decline."""
    block = node.value
    if isinstance(block, ast.Attribute) and block.attr == "type":
        block = block.value
    return block, run.expression(block)


def lengths(run: Interpreter, value: Value) -> Value:
    """The lengths of a block's axes."""
    return Value(items=tuple(number(ONE) if a is None else number(run.axes.length(a)) for a in value.axes))


def all_read(run: Interpreter, node: ast.Attribute, block: ast.expr, value: Value) -> None:
    """Notes that the source reads all lengths of a block at once: `rows, cols = acc.shape`."""
    for place, axis in enumerate(value.axes):
        entries = (f"{ast.unparse(node)}[{i}]" if i != place else "{length}" for i in range(len(value.axes)))
        _note(run, axis, Span.of(node), f"({', '.join(entries)}{',' * (len(value.axes) == 1)})", block)


def one_read(run: Interpreter, node: ast.Subscript, block: ast.expr, value: Value, place: int) -> None:
    """Notes that the source reads the length of one axis: `acc.shape[0]`."""
    if -len(value.axes) <= place < len(value.axes):
        _note(run, value.axes[place], Span.of(node), "{length}", block)


def promised(run: Interpreter, value: Value, counts: ast.expr | None) -> None:
    """Notes what `tl.multiple_of(rows, BLOCK_M)` and its like say of positions along the axes of a block."""
    entries = counts.elts if isinstance(counts, ast.Tuple | ast.List) else [counts]
    for place, axis in enumerate(value.axes):
        entry = entries[place] if len(entries) == len(value.axes) else None
        said = run.expression(entry) if entry is not None else Value()
        if axis is None or (isinstance(said.literal, int) and said.literal <= _FEW):
            continue
        if entry is not None and said.poly is not None and said.poly == run.axes.length(axis):
            _note(run, axis, Span.of(entry), "{rows}", entry)
        else:
            run.axes.mark(axis, "fixed")


def _note(run: Interpreter, axis: int | None, span: Span, text: str, said: ast.expr) -> None:
    """What is said in a helper, or of more than a name, is not written anew."""
    if run.helpers or not isinstance(said, ast.Name):
        run.axes.mark(axis, "fixed")
    else:
        run.axes.read(axis, LengthRead(span, text))
