"""Launch-constants that a flag chooses between, and sums that differ by such a choice alone.

`1 if TRANS_A else stride_a` is one number for a launch, whichever way the source writes the choice. Two addresses with
the same positions in them, `k * stride_a + m` and `k + m * stride_a`, are then one: each position times the stride that
the flag chooses. Whatever is put together here is, for either answer of the flag, exactly what the source has.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from ..poly import CHOSEN, ZERO, Monomial, Poly, Symbol, sum_of
from .values import Term, Value, pure

#: A factor of each of two terms that one position may be multiplied by: the strides of an axis in both arms.
Strides = tuple[Poly, Poly]
_NOT = "(not {})"


def flags(test: Poly) -> tuple[str, ...] | None:
    """The constexpr parameters that a test asks for; None where they alone do not answer it."""
    found: dict[str, None] = {}
    for symbol in test.symbols:
        if symbol.operands:
            inner = [flags(operand) for operand in symbol.operands]
            if None in inner:
                return None
            found |= dict.fromkeys(name for names in inner if names is not None for name in names)
        elif symbol.constexpr and symbol.name.isidentifier():
            found[symbol.name] = None
        else:
            return None
    return tuple(sorted(found)) if found and _python(test.text()) else None


def _python(text: str) -> bool:
    """Whether a test means in plain Python what it means to the compiler: comparisons and truth values."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    known = (ast.Expression, ast.Name, ast.Constant, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.UnaryOp)
    return all(isinstance(node, (*known, ast.Not, ast.expr_context)) for node in ast.walk(tree))


class Chooser:
    """Choices by one test, of two values each; `pointers` are names that are no numbers."""

    def __init__(self, test: Poly, *, holds: bool, pointers: Collection[str] = ()) -> None:
        """`holds` says whether the first of two values is taken where the test holds."""
        while (inner := test.alone) is not None and inner.template == _NOT:
            (test,), holds = inner.operands, not holds
        self.test, self.holds = test, holds
        self._pointers = frozenset(pointers)
        #: Whether the guard and the contract can ask for it.
        self.usable = flags(test) is not None

    def number(self, first: Poly, second: Poly) -> Poly | None:
        """One launch-constant out of two; None where one is none, or the address of something.

        It stays whole, `cdiv(K, BK) - 1 if TAIL else cdiv(K, BK)`: as such it has a name, and is never negative.
        """
        if not self.usable or not (first.launch and second.launch):
            return None
        first, second = self._known(first, taken=True), self._known(second, taken=False)
        if self._held(first) or self._held(second):
            return self._of_rest(first, second)
        return self._choice(first, second)

    def total(self, first: Poly, second: Poly, strides: Iterable[Strides] = (), *, alike: bool = False) -> Poly | None:
        """One sum out of two whose terms move by the same, each times a launch-constant.

        Terms that differ as the `strides` of one axis do belong together; `alike` are sums where nothing else differs.
        None where something moves one sum alone.
        """
        if not self.usable:
            return None
        first, second = self._known(first, taken=True), self._known(second, taken=False)
        left, right = _by_motion(first), _by_motion(second)
        steps = [(self._known(one, taken=True), self._known(other, taken=False)) for one, other in strides]
        found: list[Poly] = []
        for motion in {**left, **right}:
            one, other, paired = self._paired(left.get(motion, ZERO), right.get(motion, ZERO), steps)
            rest = self._of_rest(one, other)
            if rest is None or (alike and one != other) or (motion and (one == ZERO) != (other == ZERO)):
                return None
            found.append((paired + rest) * Poly(((motion, 1),)))
        return sum_of(found)

    def _paired(self, first: Poly, second: Poly, steps: list[Strides]) -> tuple[Poly, Poly, Poly]:
        """(what is left of each, the sum of what belongs together)."""
        total = ZERO
        for term in first.terms:
            one = Poly((term,))
            for here, there in steps:
                if len(here.terms) != 1:
                    continue
                wanted = [Poly((o,)) for o in second.terms if Poly((o,)) * here == one * there]
                if not wanted or here == there:
                    continue
                stride, factor = self._choice(here, there), one.divide(here)
                if factor[1] == ZERO:
                    total += factor[0] * stride
                    first, second = first - one, second - wanted[0]
                    break
        return first, second, total

    def _of_rest(self, first: Poly, second: Poly) -> Poly | None:
        common = Poly(tuple(term for term in first.terms if term in second.terms))
        first, second = first - common, second - common
        if first == second:
            return common + first
        if self._held(first) or self._held(second):
            return None
        return common + self._choice(first, second)

    def _held(self, poly: Poly) -> bool:
        """Whether a pointer is among what is added up."""
        return bool(self._pointers.intersection(symbol.name for symbol in poly.symbols))

    def _choice(self, first: Poly, second: Poly) -> Poly:
        """One of two, with what they have in common taken out: `BK * (1 if T else s)`."""
        if first == second:
            return first
        shared = _shared(first, second)
        one, other = (poly.divide(shared)[0] for poly in (first, second))
        one, other = (one, other) if self.holds else (other, one)
        symbol = pure(CHOSEN, Value(poly=one), Value(poly=self.test), Value(poly=other)).poly
        assert symbol is not None
        return shared * symbol

    def _known(self, poly: Poly, *, taken: bool) -> Poly:
        """A sum as it is in the first arm (`taken`) or in the second: choices by the same test are made there."""
        answer = taken == self.holds
        made = {s: s.operands[0 if answer else 2] for s in poly.symbols if s.chosen and s.operands[1] == self.test}
        return self._known(poly.substitute(made), taken=taken) if made else poly


def _by_motion(poly: Poly) -> dict[Monomial, Poly]:
    """The launch-constants of a sum by what they are multiplied by."""
    found: dict[Monomial, Poly] = {}
    for monomial, coefficient in poly.terms:
        moving = tuple(symbol for symbol in monomial if not symbol.launch)
        fixed = tuple(symbol for symbol in monomial if symbol.launch)
        found[moving] = found.get(moving, ZERO) + Poly(((fixed, coefficient),))
    return found


def _shared(first: Poly, second: Poly) -> Poly:
    """The largest product that divides both of two, each of one term; else 1."""
    if len(first.terms) != 1 or len(second.terms) != 1:
        return Poly.of(1)
    ((one, times),), ((other, more),) = first.terms, second.terms
    left, common = list(other), []
    for symbol in one:
        if symbol in left:
            left.remove(symbol)
            common.append(symbol)
    sign = -1 if times < 0 and more < 0 else 1
    return Poly(((tuple(common), sign * math.gcd(times, more)),))


def affine(choose: Chooser, first: Value, second: Value, *, alike: bool = False) -> Value | None:
    """One integer or address out of two that have the same positions, times strides that may differ.

    Its axes are those of the first. None where they differ otherwise; in where they begin they may, unless `alike`.
    """
    if first.poly is None or second.poly is None:
        return None
    loads = first.loads | second.loads
    if first.scalar and second.scalar and (number := choose.number(first.poly, second.poly)) is not None:
        return Value(poly=number, loads=loads)
    terms = _terms(choose, first, second)
    if terms is None:
        return None
    strides = [(one.stride, other.stride) for one, other in _pairs(first, second)]
    poly = choose.total(first.poly, second.poly, [pair for pair in strides if pair[0] != pair[1]], alike=alike)
    return None if poly is None else Value(axes=first.axes, poly=poly, terms=terms, loads=loads)


def _pairs(first: Value, second: Value) -> Iterator[tuple[Term, Term]]:
    others = {term.dim: term for term in second.terms}
    return ((term, others[term.dim]) for term in first.terms if term.dim in others)


def _terms(choose: Chooser, first: Value, second: Value) -> tuple[Term, ...] | None:
    """The terms of both, each with the stride that is chosen; None where one axis is counted in two ways."""
    dims = [[term.dim for term in value.terms] for value in (first, second)]
    if sorted(dims[0]) != sorted(dims[1]) or len({*dims[0]}) < len(dims[0]):
        return None
    found = []
    for one, other in _pairs(first, second):
        stride = choose.number(one.stride, other.stride)
        if stride is None or replace(one, stride=ZERO) != replace(other, stride=ZERO):
            return None
        found.append(replace(one, stride=stride))
    return tuple(found)


def pointers_chosen(symbols: Iterable[Symbol], is_pointer: Callable[[Symbol], bool]) -> frozenset[str]:
    """Pointers among what was taken for numbers that a flag chooses between."""
    options = (option for symbol in symbols if symbol.chosen for option in symbol.options)
    return frozenset(s.name for option in options for s in option.symbols if not s.operands and is_pointer(s))
