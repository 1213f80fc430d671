"""Opposite conditions: turned round where that says exactly the opposite, else under `not`."""

from __future__ import annotations

import libcst as cst
import pytest

from tlxify.rewrites.function import FunctionText
from tlxify.rewrites.negation import negated
from tlxify.source import Span

CASES = [
    ("a >= b", "a < b"),
    ("a < b", "a >= b"),
    ("a == b", "a != b"),
    ("x < y", "not (x < y)"),
    ("x == y", "x != y"),
    ("not x > y", "x > y"),
    ("flag", "not flag"),
    ("a >= b or a == 3", "a < b and a != 3"),
    ("a >= b and a == 3", "a < b or a != 3"),
    ("(a < b or a > c) and a == 3", "(a >= b and a <= c) or a != 3"),
    ("(a < b and a > c) or a == 3", "(a >= b or a <= c) and a != 3"),
    ("(a == b or a == c) and flag", "not ((a == b or a == c) and flag)"),
    ("a < b < c", "not (a < b < c)"),
]


@pytest.mark.parametrize(("source", "expected"), CASES, ids=[source for source, _ in CASES])
def test_opposite(source, expected):
    """Comparisons that begin with `a` are of integers."""
    expression = cst.parse_expression(source)
    found: list[cst.Comparison] = []

    class Collect(cst.CSTVisitor):
        def visit_Comparison(self, node: cst.Comparison) -> None:
            found.append(node)

    expression.visit(Collect())
    spans = {node: Span(1, number, 1, number) for number, node in enumerate(found)}
    integers = [spans[node] for node in found if isinstance(node.left, cst.Name) and node.left.value == "a"]
    module = cst.parse_module("def f(): pass\n")
    function = module.body[0]
    assert isinstance(function, cst.FunctionDef)
    result = negated(expression, FunctionText(module, function, spans), integers)
    assert module.code_for_node(result) == expected
