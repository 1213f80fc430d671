"""How wide words are that numbers are packed into: 28 places to the right there must be bits, too.

`(q >> shift) & 0xF` with shifts up to 28 takes eight numbers of 4 bits out of 32; of 8 bits most of them would be none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...facts import Facts
from ...poly import Poly
from ..bindings import bindings
from .taking import Taken

#: Bits of the narrowest word.
BYTE = 8


def words_of(kernel: ast.AST, facts: Facts, taken: Iterable[Taken]) -> dict[str, str]:
    """The element type of each parameter whose elements are taken apart by operations on bits."""
    reach = _Reach(kernel)
    highest: dict[str, int | None] = {}
    for one in taken:
        bit = reach.bit(one)
        for pointer in one.pointers:
            known = highest.setdefault(pointer, None)
            highest[pointer] = bit if known is None else known if bit is None else max(known, bit)
    divided = {pointer for pointer, count in _divided(facts) if count >= BYTE}
    return {
        pointer: "i32" if (pointer in divided if bit is None else bit >= BYTE) else "i8"
        for pointer, bit in highest.items()
    }


def _divided(facts: Facts) -> Iterator[tuple[str, int]]:
    """How many positions share an element: `n // 8` of them 8."""
    for _, access in facts.accesses:
        for d in access.dimensions:
            if d.divisor is not None and d.divisor.constant is not None:
                yield access.pointer, d.divisor.constant
            for symbol in d.coordinate.symbols:
                count: Poly | None = symbol.operands[1] if symbol.template == "({} // {})" else None
                if count is not None and count.constant is not None:
                    yield access.pointer, count.constant


class _Reach:
    """How large the numbers of a kernel get, as far as its text says."""

    def __init__(self, kernel: ast.AST) -> None:
        self._bound = bindings(kernel, _last)

    def bit(self, taken: Taken) -> int | None:
        """The highest bit that an operation asks for; None where nothing says it."""
        most = self.most(taken.other)
        if most is None or not taken.mask:
            return most
        return most.bit_length() - 1

    def most(self, value: ast.expr | None, within: frozenset[str] = frozenset()) -> int | None:
        """The largest that a number gets, if it is not negative."""
        match value:
            case ast.Constant(value=int() as number):
                return number
            case ast.BinOp(left=left, op=ast.Sub() | ast.FloorDiv() as op, right=right):
                most = self.most(left, within)
                match right:
                    case ast.Constant(value=int() as fixed) if most is not None and fixed > 0:
                        return most - fixed if isinstance(op, ast.Sub) else most // fixed
                return most
            case ast.BinOp(left=left, op=op, right=right):
                return _combined(op, self.most(left, within), self.most(right, within))
            case ast.Call(func=ast.Attribute(attr="arange"), args=[_, end]):
                length = self.most(end, within)
                return None if length is None else length - 1
            case ast.Call(func=ast.Attribute(value=inner, attr="to")) | ast.Subscript(value=inner):
                return self.most(inner, within)
            case ast.Name(id=name) if self._bound.get(name) and name not in within:
                each = [self.most(one, within | {name}) for one in self._bound[name]]
                known = [one for one in each if one is not None]
                return max(known) if len(known) == len(each) else None
        return None


def _last(loop: ast.For) -> ast.expr | None:
    """The last number that a loop counts to; None where it does not count by ones."""
    match loop.iter:
        case ast.Call(args=[*_, end] as args) if len(args) < 3:
            return ast.BinOp(end, ast.Sub(), ast.Constant(1))
    return None


def _combined(op: ast.operator, left: int | None, right: int | None) -> int | None:
    """The largest result of operands that are at most so large."""
    match op:
        case ast.Mod():
            return None if right is None else right - 1
        case ast.BitAnd():
            return min((one for one in (left, right) if one is not None), default=None)
        case ast.Add() if left is not None and right is not None:
            return left + right
        case ast.Mult() if left is not None and right is not None:
            return left * right
    return None
