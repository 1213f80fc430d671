"""Polynomials: arithmetic that agrees with evaluating, equality that agrees with meaning, text that reads well."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlxify.poly import ONE, ZERO, Poly, Symbol, sum_of

SYMBOLS = [
    Symbol("pid"),
    Symbol("k", trip=True),
    Symbol("M", launch=True),
    Symbol("stride", launch=True),
    Symbol("BLOCK", launch=True, constexpr=True),
]
PID, TRIP, M, STRIDE, BLOCK = map(Poly.of, SYMBOLS)

monomials = st.tuples(st.lists(st.sampled_from(SYMBOLS), max_size=3).map(tuple), st.integers(-9, 9))
polys = st.lists(monomials, max_size=5).map(Poly.build)
points = st.lists(st.integers(-20, 20), min_size=len(SYMBOLS), max_size=len(SYMBOLS))


def at(poly: Poly, point: list[int]) -> int:
    """The value of a polynomial, computed without its own arithmetic."""
    values = dict(zip(SYMBOLS, point, strict=True))
    total = 0
    for monomial, coefficient in poly.terms:
        for symbol in monomial:
            coefficient *= values[symbol]
        total += coefficient
    return total


@settings(deadline=None)
@given(polys, polys, points)
def test_sums_products_and_differences_evaluate(p, q, point):
    assert at(p + q, point) == at(p, point) + at(q, point)
    assert at(p - q, point) == at(p, point) - at(q, point)
    assert at(p * q, point) == at(p, point) * at(q, point)
    assert at(-p, point) == -at(p, point)


@settings(deadline=None)
@given(polys, polys, polys)
def test_the_laws_of_a_ring_hold_as_equality(p, q, r):
    assert p + q == q + p
    assert (p + q) + r == p + (q + r)
    assert p * q == q * p
    assert (p * q) * r == p * (q * r)
    assert p * (q + r) == p * q + p * r
    assert p + ZERO == p * ONE == p
    assert p - p == p * ZERO == ZERO
    assert hash(p + q) == hash(q + p)
    assert sum_of([p, q, r]) == p + q + r


@settings(deadline=None)
@given(polys)
def test_equal_polynomials_have_one_form(p):
    assert Poly.build(reversed(p.terms)) == p
    assert all(coefficient for _, coefficient in p.terms)
    assert all(list(monomial) == sorted(monomial) for monomial, _ in p.terms)


@settings(deadline=None)
@given(polys, monomials.filter(lambda m: m[1] > 0), points)
def test_a_quotient_and_its_rest_make_up_the_polynomial(p, divisor, point):
    by = Poly.build([divisor])
    quotient, rest = p.divide(by)
    assert quotient * by + rest == p
    again, left = rest.divide(by)
    assert again == ZERO
    assert left == rest


@pytest.mark.parametrize(
    ("poly", "divisor", "quotient", "rest"),
    [
        (PID * BLOCK * STRIDE, STRIDE, PID * BLOCK, ZERO),
        (PID * BLOCK * STRIDE + PID, STRIDE, PID * BLOCK, PID),
        (PID * PID, PID, PID, ZERO),
        (PID, PID * PID, ZERO, PID),
        (Poly.of(6) * PID, Poly.of(2), Poly.of(3) * PID, ZERO),
        (Poly.of(5) * PID, Poly.of(2), ZERO, Poly.of(5) * PID),
        (M - Poly.of(4), ONE, M - Poly.of(4), ZERO),
    ],
    ids=str,
)
def test_division_by_a_monomial(poly, divisor, quotient, rest):
    assert poly.divide(divisor) == (quotient, rest)


@settings(deadline=None)
@given(polys, polys, points)
def test_a_substituted_polynomial_evaluates_with_the_value_in_place(p, q, point):
    point_inside = [at(q, point), *point[1:]]
    assert at(p.substitute({SYMBOLS[0]: q}), point) == at(p, point_inside)


@settings(deadline=None)
@given(polys, points)
def test_the_text_is_python_with_the_same_value(p, point):
    names = {symbol.name: value for symbol, value in zip(SYMBOLS, point, strict=True)}
    assert eval(str(p), {}, names) == at(p, point)


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (ZERO, "0"),
        (-ONE, "-1"),
        (BLOCK * PID, "pid * BLOCK"),
        (STRIDE * BLOCK * TRIP, "k * stride * BLOCK"),
        (ONE + PID, "pid + 1"),
        (M - PID * BLOCK, "M - pid * BLOCK"),
        (-PID, "-pid"),
        (Poly.of(-2) * M + PID, "pid - 2 * M"),
        (Poly.of(3) * M, "3 * M"),
    ],
    ids=str,
)
def test_text_reads_in_a_natural_order(poly, text):
    assert str(poly) == text


def test_symbols_may_be_written_otherwise():
    assert (PID * BLOCK + ONE).text({SYMBOLS[0]: "tile % GRID_0"}) == "tile % GRID_0 * BLOCK + 1"


@pytest.mark.parametrize(
    ("poly", "constant", "launch", "constexpr", "monomial"),
    [
        (ZERO, 0, True, True, False),
        (Poly.of(3), 3, True, True, True),
        (Poly.of(-3), -3, True, True, False),
        (BLOCK, None, True, True, True),
        (BLOCK + ONE, None, True, True, False),
        (M * BLOCK, None, True, False, True),
        (M * PID, None, False, False, True),
        (-M, None, True, False, False),
    ],
    ids=str,
)
def test_what_is_known_of_it(poly, constant, launch, constexpr, monomial):
    assert (poly.constant, poly.launch, poly.constexpr, poly.monomial) == (constant, launch, constexpr, monomial)


def test_a_symbol_is_its_name_and_when_it_is_known():
    plain = Symbol("(M // 2)", launch=True)
    assert plain == Symbol("(M // 2)", launch=True, template="({} // {})", operands=(M, Poly.of(2)))
    assert plain != Symbol("(M // 2)")


def test_a_quotient_times_its_divisor_and_the_rest_are_what_was_divided():
    quotient, rest = (
        Poly.of(Symbol(f"(M {sign} BLOCK)", launch=True, template=f"({{}} {sign} {{}})", operands=(M, BLOCK)))
        for sign in ("//", "%")
    )
    assert (quotient * BLOCK + rest).rejoined() == M
    assert (quotient * BLOCK * Poly.of(3) + rest * Poly.of(3) + PID).rejoined() == M * Poly.of(3) + PID
    for apart in (quotient * BLOCK + rest * Poly.of(2), quotient + rest, rest, quotient * BLOCK):
        assert apart.rejoined() == apart
