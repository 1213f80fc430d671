"""The opposite of a condition, as one would write it.

What: turns a comparison round, takes a `not` away or puts one in front.
Why: `if pid < tiles:` around the work reads better than an empty arm with the work under `else:`.
Before: `if pid >= tiles: pass` and the work under `else:`.
After: `if pid < tiles:` and the work.
When refused: never; an order of what may be NaN is not turned round but put under `not`.
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from ..source import Span
from .function import FunctionText

#: Holds for NaN as well: equal and unequal exclude each other.
_ALWAYS: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.Equal: cst.NotEqual(),
    cst.NotEqual: cst.Equal(),
    cst.Is: cst.IsNot(),
    cst.IsNot: cst.Is(),
    cst.In: cst.NotIn(),
    cst.NotIn: cst.In(),
}
_INTEGERS: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.LessThan: cst.GreaterThanEqual(),
    cst.LessThanEqual: cst.GreaterThan(),
    cst.GreaterThan: cst.LessThanEqual(),
    cst.GreaterThanEqual: cst.LessThan(),
}


def negated(test: cst.BaseExpression, text: FunctionText, integers: Collection[Span]) -> cst.BaseExpression:
    """`test` turned round, with its nodes still to be found. `integers` are the comparisons of integers."""
    turned = _turned(test, text, integers)
    if turned is not None:
        return turned
    return cst.UnaryOperation(cst.Not(), _closed(test))


def _turned(test: cst.BaseExpression, text: FunctionText, integers: Collection[Span]) -> cst.BaseExpression | None:
    """The opposite without a `not` around it; None where it takes one."""
    match test:
        case cst.Comparison(comparisons=[target]):
            opposite = _ALWAYS.get(type(target.operator))
            if opposite is None and text.spans.get(test) in integers:
                opposite = _INTEGERS.get(type(target.operator))
            return None if opposite is None else test.with_changes(comparisons=[target.with_changes(operator=opposite)])
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return inner
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            sides = _turned(left, text, integers), _turned(right, text, integers)
            if sides[0] is None or sides[1] is None:
                return None
            both: cst.BaseBooleanOp = cst.And() if isinstance(operator, cst.Or) else cst.Or()
            first, second = (
                side.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
                if isinstance(side, cst.BooleanOperation) and not side.lpar and isinstance(side.operator, cst.Or)
                else side
                for side in (sides[0], sides[1])
            )
            return test.with_changes(left=first, operator=both, right=second)
    return None


def _closed(test: cst.BaseExpression) -> cst.BaseExpression:
    plain = cst.Name | cst.Call | cst.Attribute
    if test.lpar or isinstance(test, plain):
        return test
    return test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
