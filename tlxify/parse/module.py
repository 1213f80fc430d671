"""One source file → Module: its jit functions and constants, found by parsing alone.

The user's code is never imported or run; what only running it could tell (a constant computed at import) stays unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..diagnostics import Decline
from ..model import Helper, Module, Names
from ..source import SourceFile, Span
from .names import JIT, canonical, collect_names


def parse_module(source: SourceFile) -> Module:
    """The module behind a text. Raises Decline TLX101 if it does not parse."""
    try:
        tree = ast.parse(source.text, filename=source.path)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        column = max(0, (getattr(error, "offset", None) or 1) - 1)
        raise Decline("TLX101", Span(line, column, line, column + 1), why=getattr(error, "msg", str(error))) from None
    names = collect_names(tree)
    helpers = {node.name: Helper(node.name, node) for node in jit_functions(tree, names)}
    constants: dict[str, object] = {}
    spans: dict[str, Span] = {}
    rebound: set[str] = set()
    for statement in tree.body:
        for name, value in _bindings(statement):
            if name in constants or name in rebound:
                constants.pop(name, None)
                rebound.add(name)
            elif (literal := literal_value(value, names)) is not None:
                constants[name] = literal
                spans[name] = Span.of(statement)
            else:
                rebound.add(name)
    return Module(source, names, helpers, constants, spans, tree)


def jit_functions(tree: ast.Module, names: Names) -> Iterator[ast.FunctionDef]:
    """Functions with a jit decorator at module level, also inside `if`, `try` and `with` blocks."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        statement = pending.pop(0)
        match statement:
            case ast.FunctionDef() as function:
                if any(decorator_name(item, names) == JIT for item in function.decorator_list):
                    yield function
            case ast.If(body=body, orelse=orelse):
                pending[:0] = [*body, *orelse]
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                pending[:0] = [*body, *(s for h in handlers for s in h.body), *orelse, *final]
            case ast.With(body=body):
                pending[:0] = body


def decorator_name(node: ast.expr, names: Names) -> str:
    """The canonical name of a decorator, called or not; its own text if it has none."""
    target = node.func if isinstance(node, ast.Call) else node
    return canonical(names, target) or ast.unparse(target)


def literal_value(node: ast.expr | None, names: Names) -> object:
    """A literal int, float, bool or str, also wrapped in `tl.constexpr(…)`; None for anything else."""
    match node:
        case ast.Constant(value=int() | float() | bool() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Call(func=func, args=[inner], keywords=[]) if names.canonical(func) == "triton.language.constexpr":
            return literal_value(inner, names)
        case _:
            return None


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id, None
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, None
