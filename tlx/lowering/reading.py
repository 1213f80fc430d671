"""What Triton cannot even read of a kernel, said at the user's line.

Before anything is compiled Triton walks through a kernel and its helpers for the names they use. What stops it there
ends in a bare Python error; its traceback knows the expression that was being looked at.
"""

from __future__ import annotations

import ast
from typing import Any

from triton.runtime.jit import JITCallable

from ..builtin import TLXError
from .irtext import Place, refuse


def refused(error: Exception) -> TLXError:
    """The same error with the line of the kernel or helper in which it arose, in words where they are known."""
    node, function = _where(error)
    place = None
    if node is not None and function is not None:
        # Decorators stand before the first line that Triton reads.
        before = next((n for n, line in enumerate(function.raw_src) if line.lstrip().startswith("def ")), 0)
        line = function.starting_line_number + before + node.lineno - 1
        place = Place(function.fn.__code__.co_filename, line, node.col_offset)
    return refuse(place, _said(error, node))


def _where(error: Exception) -> tuple[Any, Any]:
    """The innermost syntax node under inspection, and the function that it belongs to."""
    node = function = None
    trace = error.__traceback__
    while trace is not None:
        known = trace.tb_frame.f_locals
        if isinstance(known.get("self"), JITCallable):
            node, function = None, known["self"]
        elif isinstance(known.get("node"), ast.expr | ast.stmt):
            node = known["node"]
        trace = trace.tb_next
    return node, function


def _said(error: Exception, node: Any) -> str:
    stores = isinstance(getattr(node, "ctx", None), ast.Store)
    if stores and any(isinstance(part, ast.Tuple | ast.List) for part in getattr(node, "elts", ())):
        return "Triton cannot read tuples inside a tuple that is assigned to: take them apart one after the other"
    if "Unsupported function referenced" in str(error):
        name = ast.unparse(node.func if isinstance(node, ast.Call) else node) if node is not None else "this"
        return f"{name} is an ordinary Python function: a kernel can call it once it is decorated with triton.jit"
    return str(error)
