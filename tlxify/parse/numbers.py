"""Whether what the host passes to a kernel is a number, as far as its code says."""

from __future__ import annotations

import ast
from collections.abc import Callable

#: What is no tensor whatever it is asked of.
_COUNTS = frozenset("size stride numel dim element_size storage_offset".split())
_FUNCTIONS = frozenset("int float bool len cdiv ceil_div next_power_of_2".split())


def is_number(node: ast.expr, function: ast.AST, bound: Callable[[ast.expr], ast.expr], depth: int = 0) -> bool:
    """Whether an argument is certainly a number; `bound` tells what a local name of the launching function stands for.

    What is computed from numbers alone is one.
    """
    if depth > 8:
        return False
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.Name(id=name):
            if _bindings(name, function) != 1:
                return _annotated(name, function)
            return (meant := bound(node)) is not node and is_number(meant, function, bound, depth + 1)
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant() | ast.UnaryOp()):
            return True
        case ast.Call(func=ast.Attribute(attr=method), args=args) if method in _COUNTS:
            return method not in ("size", "stride") or len(args) == 1
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _FUNCTIONS
        case ast.UnaryOp(operand=operand):
            return is_number(operand, function, bound, depth + 1)
        case ast.BinOp(left=left, right=right):
            return all(is_number(side, function, bound, depth + 1) for side in (left, right))
        case ast.IfExp(body=body, orelse=orelse):
            return all(is_number(arm, function, bound, depth + 1) for arm in (body, orelse))
    return False


def _annotated(name: str, function: ast.AST) -> bool:
    """Whether a parameter of the launching function that nothing rebinds is annotated as a number."""
    if not isinstance(function, ast.FunctionDef):
        return False
    given = function.args
    arguments = [one for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.arg == name]
    annotations = [ast.unparse(one.annotation) for one in arguments if one.annotation is not None]
    return not _bindings(name, function) and annotations in (["int"], ["float"], ["bool"])


def _bindings(name: str, function: ast.AST) -> int:
    """How often a function binds a name."""
    return sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(function))
