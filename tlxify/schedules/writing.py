"""Polynomials → text: with names in scope for the kernel, with parameters alone for the guard."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tlxify.poly import ZERO, Poly, Symbol


@dataclass(frozen=True, slots=True)
class Written:
    """A text and the names of the source kernel that it reads."""

    text: str
    reads: frozenset[str]


def write_in_scope(poly: Poly, scope: tuple[tuple[str, Poly], ...]) -> Written | None:
    """`poly` as an expression over names in scope, latest first; None if some part of it has no name."""
    names = tuple(reversed(scope))
    if poly.constant is not None:
        return Written(str(poly.constant), frozenset())
    parts: list[str] = []
    reads: set[str] = set()
    rest = poly
    while any(not s.launch for s in rest.symbols):
        best = _largest_part(rest, names)
        if best is None:
            return None
        text, used, rest = best
        parts.append(text)
        reads |= used
    if rest != ZERO or not parts:
        fixed = _fixed(rest, names)
        if fixed is None:
            return None
        parts.append(fixed[0])
        reads |= fixed[1]
    text = parts[0] + "".join(f" - {part[1:]}" if part.startswith("-") else f" + {part}" for part in parts[1:])
    return Written(text, frozenset(reads))


def _largest_part(poly: Poly, names: tuple[tuple[str, Poly], ...]) -> tuple[str, set[str], Poly] | None:
    """The name that, times a launch constant, accounts for most of the polynomial: (text, names read, what is left)."""
    best: tuple[int, str, set[str], Poly] | None = None
    for name, value in names:
        moving = [term for term in value.terms if any(not s.launch for s in term[0])]
        if not moving:
            continue
        for term in poly.terms:
            quotient, left = Poly((term,)).divide(Poly((moving[0],))) if moving[0][1] > 0 else (ZERO, ZERO)
            if quotient == ZERO or left != ZERO or not quotient.launch:
                continue
            rest = poly - value * quotient
            if len(rest.terms) >= len(poly.terms) or (best is not None and len(rest.terms) >= best[0]):
                continue
            factor = _fixed(quotient, names)
            if factor is None:
                continue
            if quotient.constant == 1:
                text = name
            elif quotient.constant == -1:
                text = f"-{name}"
            else:
                text = f"-{name} * {factor[0][1:]}" if factor[0].startswith("-") else f"{name} * {factor[0]}"
            best = (len(rest.terms), text, {name} | factor[1], rest)
    return best[1:] if best is not None else None


def _fixed(poly: Poly, names: tuple[tuple[str, Poly], ...]) -> tuple[str, set[str]] | None:
    """A polynomial of launch constants."""
    texts: dict[Symbol, str] = {}
    used: set[str] = set()
    for symbol in poly.symbols:
        name = next((n for n, value in names if value == Poly.of(symbol)), None)
        if name is None:
            if not symbol.name.isidentifier():
                return None
            name = symbol.name
        texts[symbol] = name
        used.add(name)
    return poly.text(texts), used


def write_for_guard(poly: Poly) -> str | None:
    """`poly` over parameters, as plain Python; None if it is not known at the launch."""
    if not poly.launch:
        return None
    texts: Mapping[Symbol, str] = {s: re.sub(r"\bcdiv\(", "triton.cdiv(", s.name) for s in poly.symbols}
    if any("tl." in text or ".to(" in text or "@" in text for text in texts.values()):
        return None
    return poly.text(texts)
