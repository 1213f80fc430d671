"""Which parameters hold integers, told by what the kernel computes with them.

Nothing declares the type of a number that is passed to a kernel. Where it is divided with `//`, taken `%` of, bounds a
`range`, or is added to or multiplied with what is surely an integer scalar (a program id, a counter, a size), it is an
integer.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

#: Functions of scalars whose arguments are of one type.
_LIKE = frozenset({"minimum", "maximum", "min", "max", "cdiv"})
_COUNTS = frozenset({"program_id", "num_programs"})
_RANGES = frozenset({"range", "static_range"})
_WHOLE = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr)
_ALIKE = (ast.Add, ast.Sub, ast.Mult)


def integers(body: ast.AST, known: Collection[str], unknown: Collection[str]) -> frozenset[str]:
    """Those of the names `unknown` that hold integers, where those of `known` do.

    Only scalars are looked at: an expression counts if every name in it is known, or asked for, or bound to such a one.
    """
    return _Names(body, set(known), set(unknown)).settled()


class _Names:
    def __init__(self, body: ast.AST, whole: set[str], asked: set[str]) -> None:
        self.whole, self.asked = whole, asked
        self.nodes = [node for node in ast.walk(body) if isinstance(node, ast.expr)]
        self.assignments = list(_assignments(body))
        for name, _ in self.assignments:
            self.asked.discard(name)  # a parameter that is rebound may be anything

    def settled(self) -> frozenset[str]:
        asked, size = frozenset(self.asked), -1
        while size != len(self.whole):
            size = len(self.whole)
            for node in self.nodes:
                if self._tells(node):
                    self.whole |= self._asked_in(node)
            for name in {name for name, _ in self.assignments}:
                values = [value for other, value in self.assignments if other == name]
                if all(value is None or self._integer(value, {name}) for value in values):
                    self.whole.add(name)
        return asked & self.whole

    def _tells(self, node: ast.expr) -> bool:
        """Whether all that is asked for in an expression is an integer."""
        match node:
            case ast.BinOp(op=op, left=left, right=right) if isinstance(op, _WHOLE):
                return self._scalar(left) and self._scalar(right)
            case ast.BinOp(op=op) if isinstance(op, _ALIKE):
                return self._scalar(node) and self._holds_integer(node)
            case ast.Compare(left=left, comparators=[right]):
                return self._scalar(left) and self._scalar(right) and any(map(self._holds_integer, (left, right)))
            case ast.Call(args=args) if _called(node) in _RANGES:
                return all(map(self._scalar, args))
            case ast.Call(args=args) if _called(node) in _LIKE:
                return all(map(self._scalar, args)) and any(map(self._holds_integer, args))
        return False

    def _integer(self, node: ast.expr, itself: Collection[str] = ()) -> bool:
        """Whether an expression is an integer scalar if `itself` is."""
        return self._scalar(node, itself) and not (self._asked_in(node) - self.whole)

    def _scalar(self, node: ast.expr, itself: Collection[str] = ()) -> bool:
        """Whether an expression is made of integers and of what is asked for alone."""
        match node:
            case ast.Constant(value=value):
                return type(value) is int
            case ast.Name(id=name):
                return name in self.whole or name in self.asked or name in itself
            case ast.BinOp(op=op, left=left, right=right) if isinstance(op, (*_WHOLE, *_ALIKE)):
                return self._scalar(left, itself) and self._scalar(right, itself)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self._scalar(operand, itself)
            case ast.IfExp(body=one, orelse=other):
                return self._scalar(one, itself) and self._scalar(other, itself)
            case ast.Call(args=args) if _called(node) in _LIKE:
                return all(self._scalar(argument, itself) for argument in args)
            case ast.Call():
                return _called(node) in _COUNTS
        return False

    def _holds_integer(self, node: ast.expr) -> bool:
        """Whether something in it is an integer for another reason than being a literal: those become what is asked."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in self.whole:
                return True
            if isinstance(inner, ast.Call) and _called(inner) in _COUNTS:
                return True
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, _WHOLE):
                return True
        return False

    def _asked_in(self, node: ast.expr) -> set[str]:
        return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} & self.asked


def _assignments(body: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names with what is bound to them; None: a counter of a range."""
    for node in ast.walk(body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for target, value in zip(targets, values, strict=True):
                    if isinstance(target, ast.Name):
                        yield target.id, value
            case ast.Assign(targets=targets):
                for inner in (inner for target in targets for inner in ast.walk(target)):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id, ast.Constant(value=None)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                yield name, ast.BinOp(left=ast.Name(id=name, ctx=ast.Load()), op=op, right=value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call):
                yield name, None if _called(call) in _RANGES else ast.Constant(value=None)


def _called(node: ast.Call) -> str:
    """The last part of what is called."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
