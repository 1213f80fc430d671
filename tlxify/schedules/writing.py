"""Polynomials → text: with names in scope for the kernel, with parameters alone for the guard."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..facts import Access, Condition, Facts
from ..poly import ZERO, Poly, Symbol


@dataclass(frozen=True, slots=True)
class Written:
    """A text and the names of the source kernel that it reads."""

    text: str
    reads: frozenset[str]


def write_in_scope(poly: Poly, scope: tuple[tuple[str, Poly], ...], depth: int = 0) -> Written | None:
    """`poly` as an expression over names in scope, latest first; what has no name is written out as in the source.

    A scope entry may also be an expression, as `tile % GRID_0` for a program id. None if some part cannot be written.
    """
    names = tuple(reversed(scope))
    if poly.constant is not None:
        return Written(str(poly.constant), frozenset())
    parts: list[str] = []
    reads: set[str] = set()
    rest = poly
    while any(not s.launch for s in rest.symbols):
        best = _largest_part(rest, names) or _written_out(rest, scope, depth)
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
    parts.sort(key=lambda part: part.startswith("-"))
    text = parts[0] + "".join(f" - {part[1:]}" if part.startswith("-") else f" + {part}" for part in parts[1:])
    return Written(text, frozenset(reads))


def _largest_part(poly: Poly, names: tuple[tuple[str, Poly], ...]) -> tuple[str, set[str], Poly] | None:
    """The name that, times a launch constant, accounts for most of the polynomial: (text, names read, what is left)."""
    best: tuple[tuple[int, int], str, set[str], Poly] | None = None
    for name, value in names:
        moving = [term for term in value.terms if any(not s.launch for s in term[0])]
        if not moving:
            continue
        for term in poly.terms:
            quotient, left = Poly((term,)).divide(Poly((moving[0],)))
            if quotient == ZERO or left != ZERO or not quotient.launch:
                continue
            rest = poly - value * quotient
            # What moves must become less; of a counter that runs down, `K - k`, what is fixed may become more.
            left_over = (_moving(rest), len(rest.terms))
            if left_over[0] >= _moving(poly) or (best is not None and left_over >= best[0]):
                continue
            factor = _fixed(quotient, names)
            if factor is None:
                continue
            if quotient.constant == 1:
                text = name
            elif quotient.constant == -1:
                text = f"-{_factor(name)}"
            else:
                sign, times = ("-", factor[0][1:]) if factor[0].startswith("-") else ("", factor[0])
                text = f"{sign}{_factor(name)} * {_factor(times)}"
            best = (left_over, text, set(_IDENTIFIERS.findall(name)) | factor[1], rest)
    return best[1:] if best is not None else None


def _moving(poly: Poly) -> int:
    """Terms that are not fixed over the launch."""
    return sum(any(not s.launch for s in monomial) for monomial, _ in poly.terms)


_IDENTIFIERS = re.compile(r"[A-Za-z_]\w*")


def _factor(text: str) -> str:
    """`text` as a factor of a product."""
    plain = (
        text.isidentifier() or text.isdigit() or (text.startswith("(") and text.endswith(")") and text.count("(") == 1)
    )
    call = re.fullmatch(r"[\w.]+\([^()]*\)", text) is not None
    products = " + " not in text and " - " not in text and "%" not in text and "/" not in text
    return text if plain or call or products else f"({text})"


def _filled(template: str, operands: list[str]) -> str:
    """A function of scalars with its operands written in: as they are between commas, closed beside an operator."""
    call = re.match(r"\w+\(", template)
    return template.replace("cdiv(", "tl.cdiv(").format(*(operands if call else map(closed, operands)))


def closed(text: str) -> str:
    """`text` as an operand of any operator: a name, a number, a call or one pair of parentheses."""
    opening = re.match(r"[\w.]*\(", text)
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and opening and position >= opening.end() - 1:
            return text if position == len(text) - 1 else f"({text})"
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _written_out(poly: Poly, scope: tuple[tuple[str, Poly], ...], depth: int) -> tuple[str, set[str], Poly] | None:
    """The first monomial with its unnamed scalars written as the source computes them."""
    if depth > 6:
        return None
    term = next(term for term in poly.terms if any(not s.launch for s in term[0]))
    monomial, coefficient = term
    texts, reads = [], set[str]()
    for symbol in sorted(monomial, key=lambda s: (s.launch, s.name)):
        name = next((n for n, value in reversed(scope) if value == Poly.of(symbol)), None)
        if name is None and symbol.launch and symbol.name.isidentifier():
            return None  # a parameter that the kernel has bound to something else
        if name is not None:
            texts.append(_factor(name))
            reads |= set(_IDENTIFIERS.findall(name))
            continue
        operands = [write_in_scope(operand, scope, depth + 1) for operand in symbol.operands]
        if not symbol.template or any(operand is None for operand in operands):
            return None
        written = [operand for operand in operands if operand is not None]
        texts.append(_filled(symbol.template, [operand.text for operand in written]))
        reads |= {name for w in written for name in w.reads}
    if coefficient != 1:
        texts.append(str(coefficient))
    return " * ".join(texts), reads, poly - Poly((term,))


def _fixed(poly: Poly, names: tuple[tuple[str, Poly], ...]) -> tuple[str, set[str]] | None:
    """A polynomial of launch constants."""
    texts: dict[Symbol, str] = {}
    used: set[str] = set()
    for symbol in poly.symbols:
        name = next((n for n, value in names if value == Poly.of(symbol)), None)
        if name is None:
            operands = [_fixed(operand, names) for operand in symbol.operands]
            if not symbol.template or not symbol.launch or any(operand is None for operand in operands):
                return None  # a parameter that the kernel has bound to something else, for one
            written = [operand for operand in operands if operand is not None]
            texts[symbol] = _filled(symbol.template, [operand[0] for operand in written])
            used |= frozenset[str]().union(*(operand[1] for operand in written))
            continue
        texts[symbol] = _factor(name)
        used |= set(_IDENTIFIERS.findall(name))
    return poly.text(texts), used


#: What plain Python does not know, or does not do as Triton does.
_ON_DEVICE = re.compile(r"\btl\.|\.to\(|@|\b(and|or|not)\b")


def write_for_guard(poly: Poly) -> str | None:
    """`poly` over parameters, as plain Python; None if it is not known at the launch."""
    texts = {symbol: _known_at_launch(symbol) for symbol in poly.symbols}
    known = {symbol: text for symbol, text in texts.items() if text is not None}
    if len(known) < len(texts):
        return None
    if (whole := poly.alone) is not None and whole.chosen:
        return known[whole][1:-1]  # one argument, of as many words as it has
    return poly.text(known)


def _known_at_launch(symbol: Symbol) -> str | None:
    """A scalar as plain Python, one factor of a product; None for one that is not known at the launch, or not so."""
    if symbol.chosen:
        first, test, second = symbol.operands
        options = (write_for_guard(first), write_for_guard(second))
        asked = _asked(test)
        return None if asked is None or None in options else f"({options[0]} if {asked} else {options[1]})"
    if not symbol.launch or _rounds_towards_zero(symbol):
        return None
    text = re.sub(r"\bcdiv\(", "triton.cdiv(", symbol.name)
    return None if _ON_DEVICE.search(text) else text


def claims(facts: Facts, access: Access) -> tuple[str, ...] | None:
    """What a launch must confirm for a descriptor to mask where the source does not: conditions over parameters.

    Where an arm of the source masks nothing, its extent must be a multiple of its tile, and its tiles must lie on
    multiples: `not EVEN_K or K % BLOCK_K == 0`; so too where tiles must wrap as a whole. None where that cannot be
    written or does not follow.
    """
    found: dict[str, None] = {}
    for dimension in access.dimensions:
        if not dimension.waived and not dimension.whole:
            continue
        assert dimension.axis is not None
        assert dimension.extent is not None
        length = facts.axis(dimension.axis).length
        whole = length.monomial and dimension.coordinate.divide(length)[1] == ZERO
        extent, tile = write_for_guard(dimension.extent), write_for_guard(length)
        if not whole or extent is None or tile is None:
            return None
        for conditions in ((),) if dimension.whole else dimension.waived:
            tests = [_otherwise(condition) for condition in conditions]
            if None in tests:
                return None
            multiple = f"{closed(extent)} % {closed(tile)} == 0"
            found[" or ".join([*(test for test in tests if test is not None), multiple])] = None
    return tuple(found)


def _otherwise(condition: Condition) -> str | None:
    """That a condition of the compiler's does not turn out so, as plain Python: there it means what it means here."""
    asked = _asked(condition.value)
    return None if asked is None else f"not {asked}" if condition.holds else asked


def _asked(test: Poly) -> str | None:
    """A condition of the compiler's as plain Python: there it means what it means here."""
    if not test.constexpr or re.search(r"\btl\.|\.to\(|@", test.text()):
        return None
    return closed(test.text())


def _rounds_towards_zero(symbol: Symbol) -> bool:
    """Whether a quotient or rest of something negative may occur: a GPU rounds towards zero there, Python downwards."""
    divides = any(sign in symbol.template for sign in ("//", "%", "cdiv("))
    subtracts = any(coefficient < 0 for operand in symbol.operands for _, coefficient in operand.terms)
    return (divides and subtracts) or any(_rounds_towards_zero(s) for o in symbol.operands for s in o.symbols)
