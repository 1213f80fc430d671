"""What literal arguments settle: arithmetic on integers, comparisons, and the `if`s that ask them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

import libcst as cst

from .trees import Block, Origins, body_of, code, leading, otherwise, suite, with_arms

#: No literal: None is one.
UNKNOWN = object()

_ARITHMETIC: Mapping[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.AST], Callable[..., object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


def literal(node: cst.BaseExpression) -> object:
    """The value of an expression of literals alone, or UNKNOWN. Only integers are computed with."""
    return _value(ast.parse(code(node), mode="eval").body) if _plain(node) else UNKNOWN


def _plain(node: cst.BaseExpression) -> bool:
    """Whether it is worth parsing: no name but the three constants."""
    return all(name in ("True", "False", "None") for name in _names(node))


def _names(node: cst.CSTNode) -> list[str]:
    if isinstance(node, cst.Name):
        return [node.value]
    if isinstance(node, cst.Call | cst.Lambda | cst.BaseComp | cst.FormattedString):
        return ["?"]
    return [name for child in node.children for name in _names(child)]


def _value(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _value(operand)
            return -number if isinstance(number, int | float) and not isinstance(number, bool) else UNKNOWN
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            known = _value(operand)
            return UNKNOWN if known is UNKNOWN else not known
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            sides: tuple[object, ...] = (_value(left), _value(right))
            whole = all(type(side) is int for side in sides)
            if not whole or (isinstance(op, ast.FloorDiv | ast.Mod) and sides[1] == 0):
                return UNKNOWN
            return _ARITHMETIC[type(op)](*sides)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            sides = _value(left), _value(right)
            if UNKNOWN in sides:
                return UNKNOWN
            try:
                return _COMPARISONS[type(op)](*sides)
            except TypeError:
                return UNKNOWN
        case ast.BoolOp(op=op, values=values):
            sides = tuple(_value(value) for value in values)
            if UNKNOWN in sides:
                return UNKNOWN
            return all(sides) if isinstance(op, ast.And) else any(sides)
    return UNKNOWN


def as_node(value: object) -> cst.BaseExpression:
    """A literal as an expression."""
    return cst.parse_expression(repr(value))


def pruned(origins: Origins, block: Block, settled: Mapping[cst.CSTNode, bool]) -> Block:
    """Statements without the arms of `if`s whose tests (by node) are settled; what is said above them stays."""
    result: Block = []
    for statement in block:
        match statement:
            case cst.If(test=test) if test in settled:
                arm = pruned(origins, body_of(statement.body) if settled[test] else otherwise(statement), settled)
                if arm:
                    arm[0] = origins.changed(arm[0], leading_lines=[*statement.leading_lines, *leading(arm[0])])
                result += arm
            case cst.If():
                body = pruned(origins, body_of(statement.body), settled)
                rest = pruned(origins, otherwise(statement), settled)
                result.append(with_arms(origins, statement, body, rest))
            case cst.For() | cst.While():
                inner = pruned(origins, body_of(statement.body), settled)
                result.append(origins.changed(statement, body=suite(inner, statement.body)))
            case _:
                result.append(statement)
    return result
