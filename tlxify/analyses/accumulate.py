"""What a statement does with the dot in it: adds it to one name, rescales that first, or anything else."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..facts import Sum
from ..model import Kernel, Loop, Statement, walk
from ..source import Span
from .events import DotEvent


@dataclass(frozen=True, slots=True)
class Use:
    """How a dot's result is used, the name that its statement binds, and the text of what the dot is added to."""

    sum: Sum
    result: str | None = None
    addend: str = ""


def use_of(statement: ast.stmt | None, event: DotEvent, kernel: Kernel) -> Use:
    """What becomes of a dot."""
    given = ast.unparse(event.accumulator) if event.accumulator is not None else ""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            if _is_dot(value, event) and not given and event.place.loops:
                return Use(Sum.ADDED, name)
            return Use(Sum.WITHIN, None, given)
        case _:
            return Use(Sum.WITHIN, None, given)
    if _is_dot(value, event):
        return Use(Sum.ADDED, name) if given == name else Use(Sum.ALONE, name, given)
    if given or not event.place.loops:
        return Use(Sum.WITHIN, None, given)
    match value:
        case ast.BinOp(left=other, op=ast.Add(), right=dot) | ast.BinOp(left=dot, op=ast.Add(), right=other) if _is_dot(
            dot, event
        ):
            if isinstance(other, ast.Name) and other.id == name:
                return Use(Sum.ADDED, name)
            if _rescales(other, name) and _carried(kernel, event, name):
                return Use(Sum.RESCALED, name, ast.unparse(other))
    return Use(Sum.WITHIN)


def _is_dot(node: ast.expr, event: DotEvent) -> bool:
    return isinstance(node, ast.Call) and Span.of(node) == event.place.span


def _rescales(node: ast.expr, name: str) -> bool:
    """Whether it is the name, multiplied or divided: its dtype and shape stay those of the name."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _rescales(left, name) or _rescales(right, name)
        case ast.BinOp(left=left, op=ast.Div()):
            return _rescales(left, name)
        case _:
            return isinstance(node, ast.Name) and node.id == name


def _carried(kernel: Kernel, event: DotEvent, name: str) -> bool:
    """Whether the loop carries the name and nothing in it makes something else of it.

    Triton keeps the dtype and the shape of what a loop carries: those of the sum, fp32 and a full tile.
    """
    loop = next(node for node in walk(kernel.body) if isinstance(node, Loop) and node.span == event.place.loops[-1])
    for node in walk(loop.body):
        if isinstance(node, Loop | Statement) and node.span != event.place.statement:
            match node.node:
                case ast.AugAssign(target=ast.Name(id=bound), op=ast.Mult() | ast.Div() | ast.Add()) if bound == name:
                    continue
                case ast.Assign(targets=[ast.Name(id=bound)], value=value) if bound == name and _rescales(value, name):
                    continue
                case other if _binds(other, name):
                    return False
    return True


def _binds(node: ast.stmt, name: str) -> bool:
    inner = (
        ast.walk(node.target) if isinstance(node, ast.For) else () if isinstance(node, ast.While) else ast.walk(node)
    )
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in inner)
