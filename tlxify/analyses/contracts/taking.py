"""Operations on bits, with the parameters whose elements they are given as they are. Floats have none."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: Operations on bits, as methods.
BITS = frozenset({"__lshift__", "__rshift__", "__and__", "__or__", "__xor__"})


@dataclass(frozen=True, slots=True)
class Taken:
    """One operation."""

    pointers: frozenset[str]
    #: How far it shifts, or the mask.
    other: ast.expr | None
    mask: bool


def taken_apart(kernel: ast.AST, pointers_of: Callable[[ast.expr], frozenset[str] | None]) -> Iterator[Taken]:
    """The operations of a kernel on elements. `pointers_of` says whose elements a value is."""
    for node in ast.walk(kernel):
        match node:
            case ast.BinOp(left=left, op=ast.LShift() | ast.RShift(), right=right):
                yield Taken(pointers_of(left) or frozenset(), right, mask=False)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), right=right):
                yield Taken(pointers_of(left) or frozenset(), right, mask=True)
            case ast.Call(func=ast.Attribute(value=left, attr=attr), args=args) if attr in BITS:
                yield Taken(pointers_of(left) or frozenset(), args[0] if args else None, mask="shift" not in attr)
