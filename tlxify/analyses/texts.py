"""Contract expressions, read back: the names in them, and what they are as polynomials."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..poly import Poly, Symbol


def words(texts: Iterable[str]) -> set[str]:
    """The names in some expressions, without those of functions."""
    nodes = [node for text in texts for node in ast.walk(ast.parse(text, mode="eval"))]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}


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
