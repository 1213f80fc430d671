"""Replaces expressions inside a kept statement, found by their spans.

What: program ids, and the lengths and positions of the rows that consumer groups divide.
Why: everything around the expression stays the user's text, parentheses and spaces included.
Before: `offs = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)`.
After: in a consumer, `offs = pid_m * BLOCK_M + ROWS * group + tl.arange(0, ROWS)`.
When refused: never; an expression that is not found is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import libcst as cst

from ..plan import Masked, WrittenOut
from ..source import Span
from .function import FunctionText

#: Arguments that only a block pointer has.
_CHECKS = frozenset({"boundary_check", "padding_option"})
_NONE: Mapping[Span, WrittenOut | Masked] = {}
NodeT = TypeVar("NodeT", bound=cst.CSTNode)


def replace(
    node: NodeT,
    text: FunctionText,
    replacements: Mapping[Span, str],
    accesses: Mapping[Span, WrittenOut | Masked] = _NONE,
) -> NodeT:
    """`node` with each expression whose span is a key replaced by the expression in its value.

    `accesses` are calls that load or store through a block pointer, or load under a mask what comes from elsewhere, by
    their spans, as they are to be written.
    """
    if not replacements and not accesses:
        return node
    result = node.visit(_Replace(text, replacements, accesses))
    assert isinstance(result, type(node))
    return result


def written_at(
    text: FunctionText,
    span: Span,
    replacements: Mapping[Span, str],
    accesses: Mapping[Span, WrittenOut | Masked] = _NONE,
) -> str:
    """The expression at a place, as `replace` makes it. Raises LookupError where there is none."""
    nodes = (node for node, place in text.spans.items() if place == span and isinstance(node, cst.BaseExpression))
    node = next(nodes, None)
    if node is None:
        raise LookupError(f"no expression at {span}")
    return text.module.code_for_node(replace(node, text, replacements, accesses))


class _Replace(cst.CSTTransformer):
    def __init__(
        self, text: FunctionText, replacements: Mapping[Span, str], accesses: Mapping[Span, WrittenOut | Masked]
    ) -> None:
        super().__init__()
        self.text = text
        self.replacements = replacements
        self.accesses = accesses
        #: Inserted operations that carry parentheses a sum or an argument does not need.
        self.guarded: set[int] = set()

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        updated = super().on_leave(original_node, updated_node)
        span = self.text.spans.get(original_node) if isinstance(original_node, cst.BaseExpression) else None
        if span is not None and span in self.replacements:
            return self._inserted(self.replacements[span])
        if span is not None and span in self.accesses and isinstance(updated, cst.Call):
            access = self.accesses[span]
            return _chosen(updated, access) if isinstance(access, Masked) else _ordinary(updated, access)
        match updated:
            case cst.BinaryOperation(left=left, right=right, operator=cst.Add()):
                return updated.with_changes(
                    left=self._bare(left, additive=True), right=self._bare(right, additive=True)
                )
            case cst.Assign(value=value) | cst.AnnAssign(value=cst.BaseExpression() as value) | cst.Arg(value=value):
                return updated.with_changes(value=self._bare(value))
            case _:
                return updated  # type: ignore[return-value]

    def _inserted(self, text: str) -> cst.BaseExpression:
        expression = cst.parse_expression(text)
        if isinstance(expression, cst.BinaryOperation | cst.IfExp):
            expression = expression.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            self.guarded.add(id(expression))
        return expression

    def _bare(self, node: cst.BaseExpression, *, additive: bool = False) -> cst.BaseExpression:
        """Without the parentheses that were added here, where precedence and associativity allow it."""
        if id(node) not in self.guarded:
            return node
        if additive and not (isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add)):
            return node
        return node.with_changes(lpar=[], rpar=[])


def _chosen(call: cst.Call, masked: Masked) -> cst.Call:
    """The tile where the call's own mask holds, and what the call reads elsewhere."""
    given = dict(zip(("pointer", "mask", "other"), (arg.value for arg in call.args if not arg.keyword), strict=False))
    given |= {arg.keyword.value: arg.value for arg in call.args if arg.keyword}
    other = given["other"] if masked.other else cst.Integer("0")
    values = (given["mask"], cst.parse_expression(masked.tile), other)
    return call.with_changes(func=cst.parse_expression(masked.function), args=[cst.Arg(value) for value in values])


def _ordinary(call: cst.Call, access: WrittenOut) -> cst.Call:
    """The call with an ordinary pointer and a mask in place of a block pointer and its checks, or of a descriptor."""
    given = (("mask", access.mask), ("other", access.other))
    added = [_named(name, text) for name, text in given if text is not None]
    if access.function:
        pointer = cst.Arg(cst.parse_expression(access.pointer))
        call = call.with_changes(func=cst.parse_expression(access.function))
        args = [pointer, *call.args[1:], *added]
        return call.with_changes(args=[arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in args])
    kept = [arg for arg in call.args[1:] if arg.keyword is None or arg.keyword.value not in _CHECKS]
    pointer = call.args[0].with_changes(value=cst.parse_expression(access.pointer))
    args = [pointer, *kept, *added]
    return call.with_changes(args=[arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in args])


def _named(name: str, text: str) -> cst.Arg:
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(cst.parse_expression(text), keyword=cst.Name(name), equal=plain)
