"""Which names may hold integers of 64 bits: a TMA coordinate has 32, and other compilers of TLX do not narrow it.

Affine forms do not know: a cast leaves a number what it is. What is loaded counts, since torch's integers are wide
unless told otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..model import Loop, Node, Statement, walk

_WIDE = frozenset({"int64", "uint64"})


def wide_names(nodes: tuple[Node, ...]) -> frozenset[str]:
    """Names of the kernel's body that some assignment or loop binds to such an integer."""
    bindings = [pair for node in walk(nodes) for pair in _bindings(node)]
    wide: set[str] = set()
    while found := {name for name, value in bindings if name not in wide and _is_wide(value, wide)}:
        wide |= found
    return frozenset(wide)


def _bindings(node: Node) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case Loop(node=ast.For(target=target, iter=values)):
            yield from _pairs(target, values)
        case Statement(node=ast.Assign(targets=targets, value=value)):
            for target in targets:
                yield from _pairs(target, value)
        case Statement(node=ast.AnnAssign(target=target, value=ast.expr() as value)):
            yield from _pairs(target, value)
        case Statement(node=ast.AugAssign(target=target, value=value)):
            yield from _pairs(target, value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Names with what each is bound to; all of the value where it cannot be taken apart."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] * len(target.elts)
        for inner, part in zip(target.elts, parts, strict=False):
            yield from _pairs(inner, part)


def _is_wide(value: ast.expr, wide: set[str]) -> bool:
    match value:
        case ast.Name(id=name):
            return name in wide
        case ast.Compare() | ast.Constant():
            return False
        case ast.Call(func=ast.Attribute(attr="load")):
            return True
        case ast.Call(func=ast.Attribute(attr="to" | "cast"), args=[*_, dtype]):
            return getattr(dtype, "attr", None) in _WIDE
    return any(isinstance(part, ast.expr) and _is_wide(part, wide) for part in ast.iter_child_nodes(value))
