"""What each name of a kernel is bound to, as its text says."""

from __future__ import annotations

import ast
from collections.abc import Callable


def bindings(kernel: ast.AST, position: Callable[[ast.For], ast.expr | None]) -> dict[str, list[ast.expr | None]]:
    """The values of each name, in the order of the text; None for one that is not told.

    Args:
        kernel: the function.
        position: what stands for the name that a loop counts in.
    """
    bound: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(kernel):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                bound.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                bound.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                bound.setdefault(name, []).append(ast.BinOp(ast.Name(name, ast.Load()), op, value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for one, given in zip(targets, values, strict=True):
                    bound.setdefault(ast.unparse(one), []).append(given)
            case ast.Assign(targets=targets):
                for target in (n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                    bound.setdefault(target.id, []).append(None)
            case ast.For(target=ast.Name(id=name)):
                bound.setdefault(name, []).append(position(node))
    return bound
