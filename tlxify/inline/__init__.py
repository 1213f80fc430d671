"""Kernel → the kernel as its author could have written it without helpers that hold dots, loads, stores or program ids.

A tile that is turned in the statement that loads it gets a statement for either (`turned.py`).

Roles are cut out of a kernel's own statements, so what they are cut from must stand there. The text that comes out is
put below the user's file: every place in the file stays what it is, and places below its end have an origin in the
user's files, where whatever is said of them is said.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import libcst as cst

from ..model import Helper, Kernel
from ..parse.kernels import build_kernel
from ..reach import chain_of
from ..source import SourceFile
from .expand import Expansion
from .trees import Origins, body_of, suite
from .turned import Turned, may_turn
from .wanted import Contents, helper_of

__all__ = ["written_out"]


def written_out(kernel: Kernel) -> Kernel:
    """The kernel with the helpers that it is cut out of written out; the same one where there is nothing to write out.

    Raises Decline: TLX104 for calls and returns that no plain statement stands for, TLX105, TLX106.
    """
    if not _is_due(kernel):
        return kernel
    origins = Origins()
    source = kernel.module.source
    function = origins.read(source, kernel.span.line, kernel.span.end_line)
    expansion = Expansion(kernel, origins)
    expansion.unroll.enter(body_of(function.body))
    before = cst.Module([function]).code
    function = origins.changed(function, body=suite(expansion.block(body_of(function.body)), function.body))
    above = source.text + ("" if source.text.endswith(("\n", "\r")) else "\n") + "\n\n"
    function = Turned(origins, kernel.module.names).of(function)
    code, places = origins.settled(function, above=len(SourceFile("", above).lines()))
    if code == before:
        return kernel
    text = SourceFile(source.path, above + code, places)
    module = expansion.namespace.module(text, kernel.module)
    (node,) = ast.parse(code).body
    assert isinstance(node, ast.FunctionDef)
    ast.increment_lineno(node, len(SourceFile("", above).lines()))
    made = build_kernel(module, node, kernel.jitted)
    return replace(made, written=kernel)


def _is_due(kernel: Kernel) -> bool:
    """Whether anything may have to be written out: told from the syntax tree that is there already."""
    contents = Contents()
    found = contents.of(Helper(kernel.name, kernel.node, kernel.module))
    calls = [node for node in ast.walk(kernel.node) if isinstance(node, ast.Call)]
    return found.dot and (
        may_turn(kernel.node)
        or any(
            kernel.module.names.canonical(call.func) == "triton.language.static_range"
            or any(
                helper is not None and contents.of(helper).wanted
                for helper in (helper_of(kernel.module, chain_of(part)) for part in (call.func, *call.args))
            )
            for call in calls
        )
    )
