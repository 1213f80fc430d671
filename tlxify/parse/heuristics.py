"""What `triton.heuristics` says of the parameters that it sets, as far as reading tells: nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..model import Kernel
from .names import HEURISTICS


def truth_values(kernel: Kernel) -> frozenset[str]:
    """The parameters that a heuristic sets to a truth value: `EVEN_K` of `lambda args: args["K"] % 64 == 0`."""
    functions = {node.name: node for node in kernel.module.tree.body if isinstance(node, ast.FunctionDef)}
    return frozenset(name for name, what in _entries(kernel) if _returns_truth(what, functions))


def _entries(kernel: Kernel) -> Iterator[tuple[str, ast.expr]]:
    """The heuristics that are written out, by the parameter."""
    for decorator in kernel.decorators:
        if decorator.name == HEURISTICS and isinstance(decorator.node, ast.Call):
            call = decorator.node
            given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "values"), None)
            if isinstance(given, ast.Dict):
                for key, value in zip(given.keys, given.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value


def _returns_truth(what: ast.expr, functions: dict[str, ast.FunctionDef]) -> bool:
    match what:
        case ast.Lambda(body=body):
            return _is_truth(body)
        case ast.Name(id=name) if name in functions:
            returns = [node.value for node in ast.walk(functions[name]) if isinstance(node, ast.Return)]
            return bool(returns) and all(value is not None and _is_truth(value) for value in returns)
    return False


def _is_truth(value: ast.expr) -> bool:
    """Whether an expression is True or False, whatever its parts are."""
    match value:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()) | ast.Call(func=ast.Name("bool")):
            return True
        case ast.BoolOp(values=values):
            return all(map(_is_truth, values))
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right):
            return _is_truth(left) and _is_truth(right)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_truth(body) and _is_truth(orelse)
    return False
