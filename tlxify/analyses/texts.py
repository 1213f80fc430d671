"""Contract expressions, read back: the names in them, and what they are as polynomials."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping
from functools import partial

from ..contract import decided
from ..poly import Poly, Symbol


def words(texts: Iterable[str]) -> set[str]:
    """The names in some expressions, without those of functions and those that a choice asks for."""
    nodes = [node for text in texts for node in ast.walk(ast.parse(text, mode="eval"))]
    apart = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    tests = (node.test for node in nodes if isinstance(node, ast.IfExp))
    apart |= {id(node) for test in tests for node in ast.walk(test)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in apart}


def options(text: str) -> tuple[str, ...]:
    """What an expression may be, for every answer to the choices in it."""
    nodes = ast.walk(ast.parse(text, mode="eval")) if " if " in text else ()
    tests = list(dict.fromkeys(ast.unparse(node.test) for node in nodes if isinstance(node, ast.IfExp)))
    found: dict[str, None] = {}
    for answers in itertools.product((True, False), repeat=len(tests)):
        found[decided(text, partial(_said, dict(zip(tests, answers, strict=True))))] = None
    return tuple(found)


def _said(answers: Mapping[str, bool], test: ast.expr) -> bool:
    return answers[ast.unparse(test)]


def polynomial(text: str) -> Poly:
    """An expression as a polynomial; what is not a sum of products is a symbol of it."""

    def value(node: ast.expr) -> Poly:
        match node:
            case ast.Constant(value=int() as number):
                return Poly.of(number)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return value(left) + value(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return value(left) - value(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return value(left) * value(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BinOp():
                return Poly.of(Symbol(f"({ast.unparse(node)})", launch=True))
            case _:
                return Poly.of(Symbol(ast.unparse(node), launch=True))

    return value(ast.parse(text, mode="eval").body)
