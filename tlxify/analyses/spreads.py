"""Operators on blocks that are no affine form: what stays known of how they differ from position to position.

A loaded index is a scalar that stands for a block. Sums keep it beside what is affine, products with a scalar scale it,
and every other function of blocks is a new such scalar, named after its operator and operands like any pure function:
so `ids // top_k` is the same twice, and how large it can be follows from `ids`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from ..poly import ONE, ZERO, Poly, Symbol
from .values import MISSING, Spread, Term, Value, pure

SIGNS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip

#: Letters of names beyond which no further name is made of them: what is computed in long chains is no index.
LONGEST = 600


def merge(left: tuple[Term, ...], right: tuple[Term, ...]) -> tuple[Term, ...]:
    """Adds up terms of one axis; a wrapped term stands for itself."""
    merged: list[Term] = []
    for term in (*left, *right):
        for position, other in enumerate(merged):
            if other == replace(term, stride=other.stride):
                merged[position] = replace(other, stride=other.stride + term.stride)
                break
        else:
            merged.append(term)
    return tuple(term for term in merged if term.stride != ZERO)


def combined(op: ast.operator, left: Value, right: Value) -> Spread | None:
    """`left op right`; None where nothing is known of one of them."""
    a, b = left.spreading, right.spreading
    if a is None or b is None or (blocks := _together(a, b)) is None:
        return None
    match op:
        case ast.Add():
            return Spread(a.poly + b.poly, merge(a.terms, b.terms), blocks)
        case ast.Sub():
            return Spread(a.poly - b.poly, merge(a.terms, _scaled(b.terms, -ONE)), blocks)
        case ast.Mult() if not (right.varies and left.varies):
            block, scale = (a, b.poly) if left.varies else (b, a.poly)
            return Spread(block.poly * scale, _scaled(block.terms, scale), blocks)
    return pointwise(f"({{}} {SIGNS[type(op)]} {{}})", left, right)


def pointwise(template: str, *operands: Value) -> Spread | None:
    """Any function applied position by position; None where nothing is known of an operand."""
    known = [operand.spreading for operand in operands if operand.literal is MISSING or operand.poly is not None]
    found = [spread for spread in known if spread is not None]
    if len(found) < len(known) or _together(*found) is None:
        return None
    if sum(len(symbol.name) for spread in found for symbol in spread.poly.symbols) > LONGEST:
        return None
    dims = frozenset[int]().union(*(operand.varies for operand in operands))
    dims |= {bound.dim for operand in operands for bound in operand.bounds or ()}
    if any(spread.terms for spread in found):
        # Positions are no scalars: how large the result can be is not followed.
        parts = [f"({spread.poly}{_positions(spread.terms)})" for spread in found]
        symbol = Symbol(f"{template} of {', '.join(parts)}")
    else:
        poly = pure(template, *(_scalar(operand) for operand in operands)).poly
        assert poly is not None
        (symbol,) = poly.symbols
    return Spread(Poly.of(symbol), (), ((symbol, dims),))


def either(which: Symbol, asked: Value, *options: Value) -> Spread | None:
    """One of some blocks, as a condition says for each position: `which` stands for it."""
    if any(option.spreading is None for option in options):
        return None
    dims = frozenset[int]().union(*(value.varies for value in (asked, *options)))
    return Spread(Poly.of(which), (), ((which, dims.union(bound.dim for bound in asked.bounds or ())),))


def of_conditions(*conditions: Value) -> Spread | None:
    """What is asked of positions: known by the axes along which the answer differs alone; None without a condition."""
    dims = frozenset[int]().union(*(condition.varies for condition in conditions))
    symbol = Symbol("?")
    return Spread(Poly.of(symbol), (), ((symbol, dims),)) if conditions else None


def _scalar(operand: Value) -> Value:
    spread = operand.spreading
    return operand if spread is None else Value(poly=spread.poly, loads=operand.loads, literal=operand.literal)


def _scaled(terms: tuple[Term, ...], scale: Poly) -> tuple[Term, ...]:
    return tuple(replace(term, stride=term.stride * scale) for term in terms)


def _positions(terms: tuple[Term, ...]) -> str:
    parts = ((f"{t.stride}", t.dim, f"{t.offset}", f"{t.modulus}", f"{t.divisor}", t.folded) for t in terms)
    return "".join(f" + position{part}" for part in parts)


def _together(*spreads: Spread) -> tuple[tuple[Symbol, frozenset[int]], ...] | None:
    """The blocks of all; None if one scalar stands for blocks along different axes."""
    found: dict[Symbol, frozenset[int]] = {}
    for spread in spreads:
        for symbol, dims in spread.blocks:
            if found.setdefault(symbol, dims) != dims:
                return None
    return tuple(found.items())
