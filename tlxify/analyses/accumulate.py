"""Which name a dot accumulates into: `acc = tl.dot(a, b, acc)`, `acc += tl.dot(a, b)` or `acc = acc + tl.dot(a, b)`."""

from __future__ import annotations

import ast

from ..model import Kernel, Statement, walk
from ..source import Span
from .events import DotEvent


def accumulator_of(kernel: Kernel, event: DotEvent) -> str | None:
    """The accumulator's name; None if the dot's result goes anywhere else."""
    statement = next(
        (node.node for node in walk(kernel.body) if isinstance(node, Statement) and node.span == event.place.statement),
        None,
    )
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            return name if _is_dot(value, event) and event.accumulator is None else None
        case _:
            return None
    if _is_dot(value, event):
        held = event.accumulator
        return name if isinstance(held, ast.Name) and held.id == name else None
    match value:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=right) if left == name and _is_dot(right, event):
            return name if event.accumulator is None else None
        case ast.BinOp(left=left_dot, op=ast.Add(), right=ast.Name(id=right_name)) if right_name == name and _is_dot(
            left_dot, event
        ):
            return name if event.accumulator is None else None
    return None


def _is_dot(node: ast.expr, event: DotEvent) -> bool:
    return isinstance(node, ast.Call) and Span.of(node) == event.place.span
