"""Operators on values: sums and products stay affine, everything else becomes an opaque scalar or plain data."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace

from ..poly import ONE, ZERO
from . import spreads
from .axes import AxisTable
from .spreads import SIGNS, merge
from .values import MISSING, Bound, Term, Value, number, pure

_FOLD: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: operator.pow,
}


class Arithmetic:
    """Operators over one axis table."""

    def __init__(self, axes: AxisTable) -> None:
        self.axes = axes

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        """`left op right`."""
        left, right = _counted(left), _counted(right)
        axes = self.axes.broadcast(left.axes, right.axes)
        affine = self._affine(op, left, right)
        if affine is not None:
            if not axes and affine.poly is not None and affine.poly.constant is not None:
                affine = number(affine.poly.constant)
            return replace(affine, axes=axes, loads=left.loads | right.loads)
        if not axes:
            return self._scalar(op, left, right)
        if isinstance(op, ast.BitAnd | ast.Mult) and (both := self.both(left, right)) is not None:
            return both
        spread = spreads.combined(op, left, right)
        return Value(axes=axes, loads=left.loads | right.loads, why=_why(op, left, right), spread=spread)

    def both(self, *conditions: Value) -> Value | None:
        """All of some conditions; None if no bound is among them."""
        known = [condition for condition in conditions if condition.bounds is not None]
        if not known:
            return None
        return Value(
            axes=self.axes.broadcast(*(condition.axes for condition in conditions)),
            bounds=tuple(bound for condition in known for bound in condition.bounds or ()),
            partial=len(known) < len(conditions) or any(condition.partial for condition in known),
            spread=spreads.of_conditions(*(c for c in conditions if c.bounds is None or c.partial)),
            loads=frozenset[int]().union(*(condition.loads for condition in conditions)),
        )

    def _affine(self, op: ast.operator, left: Value, right: Value) -> Value | None:
        if left.poly is None or right.poly is None:
            return None
        match op:
            case ast.Add():
                return Value(poly=left.poly + right.poly, terms=merge(left.terms, right.terms))
            case ast.Sub():
                negated = tuple(replace(term, stride=-term.stride) for term in right.terms)
                return Value(poly=left.poly - right.poly, terms=merge(left.terms, negated))
            case ast.Mult() if not (left.terms and right.terms):
                block, scale = (left, right) if left.terms else (right, left)
                assert block.poly is not None
                assert scale.poly is not None
                terms = tuple(replace(term, stride=term.stride * scale.poly) for term in block.terms)
                return Value(poly=block.poly * scale.poly, terms=terms)
            case ast.Mod() if not right.terms and len(left.terms) == 1:
                (term,) = left.terms
                if term.stride == ONE and term.plain:
                    return Value(poly=ZERO, terms=(Term(term.dim, ONE, left.poly, right.poly),))
            case ast.FloorDiv() if not right.terms and len(left.terms) == 1:
                (term,) = left.terms
                whole = term.stride == ONE and term.divisor is None
                if whole and (term.modulus is None or left.poly == ZERO):
                    offset = left.poly if term.modulus is None else term.offset
                    return Value(poly=ZERO, terms=(Term(term.dim, ONE, offset, term.modulus, right.poly),))
        return None

    def _scalar(self, op: ast.operator, left: Value, right: Value) -> Value:
        a = left.poly.constant if left.poly is not None else None
        b = right.poly.constant if right.poly is not None else None
        if a is not None and b is not None and type(op) in _FOLD:
            try:
                return number(_FOLD[type(op)](a, b))
            except (ArithmeticError, ValueError):
                pass
        return pure(f"({{}} {SIGNS[type(op)]} {{}})", left, right)

    def compare(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        """`left op right`: a bound where it says that a position lies below a scalar."""
        axes = self.axes.broadcast(left.axes, right.axes)
        loads = left.loads | right.loads
        if not axes:
            return pure(f"({{}} {SIGNS[type(op)]} {{}})", left, right)
        if isinstance(op, ast.Gt | ast.GtE):
            left, right, op = right, left, ast.Lt() if isinstance(op, ast.Gt) else ast.LtE()
        if isinstance(op, ast.Lt | ast.LtE) and left.affine and right.affine:
            difference = self._affine(ast.Sub(), left, right)
            if difference is not None and difference.poly is not None and len(difference.terms) == 1:
                (term,) = difference.terms
                index = difference.poly - (ONE if isinstance(op, ast.LtE) else ZERO)
                if term.stride == ONE and (term.modulus, term.divisor) == (-index, None):
                    return Value(axes=axes, bounds=(), loads=loads)  # what is wrapped at an end lies below it
                if term.stride == ONE and term.plain:
                    return Value(axes=axes, bounds=(Bound(term.dim, index),), loads=loads)
        if all(axis is None for axis in axes) and left.affine and right.affine:
            return Value(axes=axes, bounds=(), partial=True, loads=loads)  # one position: a condition, and no bound
        why = ("TLX204", "a comparison that is not an upper bound on a tile axis")
        return Value(axes=axes, loads=loads, why=why, spread=spreads.of_conditions(left, right))

    def negate(self, operand: Value) -> Value:
        """`-operand`."""
        if operand.literal is not MISSING and isinstance(operand.literal, int | float):
            return Value(poly=None if operand.poly is None else -operand.poly, literal=-operand.literal)
        return self.binary(ast.Sub(), number(0), operand)

    def pointwise(self, *operands: Value, template: str) -> Value:
        """Any function applied position by position. `template` is how it is written, with `{}` for each operand."""
        axes = self.axes.broadcast(*(operand.axes for operand in operands))
        loads = frozenset[int]().union(*(operand.loads for operand in operands))
        if not axes:
            return pure(template, *operands)
        return Value(axes=axes, loads=loads, spread=spreads.pointwise(template, *operands))


def _counted(value: Value) -> Value:
    """A truth value as the number that it is in arithmetic."""
    return number(int(value.literal)) if isinstance(value.literal, bool) and value.scalar else value


def _why(op: ast.operator, left: Value, right: Value) -> tuple[str, str] | None:
    for value in (left, right):
        if value.why:
            return value.why
        if not value.scalar and value.loads and not value.affine:
            return ("TLX202", "loaded values")
    if isinstance(op, ast.FloorDiv | ast.RShift | ast.Mod):
        return ("TLX208", "a division of a tile axis")
    if isinstance(op, ast.BitAnd | ast.BitOr):
        return ("TLX204", "a condition that is not a conjunction of upper bounds")
    return ("TLX201", "a product of two tile axes")
