"""Polynomials as text: it means what the polynomial means, with the names that are in scope."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlxify.poly import ZERO, Poly, Symbol, sum_of
from tlxify.schedules.writing import write_for_guard, write_in_scope

PID, TRIP, LOADED = Symbol("tl.program_id(0)"), Symbol("trip@3:4", trip=True), Symbol("load@7:8")
M, STRIDE = Symbol("M", launch=True), Symbol("sm", launch=True)
TILE = Symbol("TM", launch=True, constexpr=True)
SCALE = Symbol("(M // TM)", launch=True, template="({} // {})", operands=(Poly.of(M), Poly.of(TILE)))
pid, trip, m, stride, tile = map(Poly.of, (PID, TRIP, M, STRIDE, TILE))
one, two = Poly.of(1), Poly.of(2)

PARAMETERS = (("M", m), ("sm", stride), ("TM", tile))
SCOPE = (*PARAMETERS, ("pid", pid), ("k", trip), ("start", pid * tile), ("offset", trip * tile + Poly.of(5)))


@pytest.mark.parametrize(
    ("poly", "text", "reads"),
    [
        (ZERO, "0", set()),
        (Poly.of(7), "7", set()),
        (pid, "pid", {"pid"}),
        (pid * tile, "start", {"start"}),
        (pid * tile * two, "start * 2", {"start"}),
        (pid * stride, "pid * sm", {"pid", "sm"}),
        (pid + one, "pid + 1", {"pid"}),
        (pid - tile, "pid - TM", {"pid", "TM"}),
        (-pid, "-pid", {"pid"}),
        (pid * tile + trip * stride, "start + k * sm", {"start", "k", "sm"}),
        (trip * tile + Poly.of(5), "offset", {"offset"}),
        (trip * tile + Poly.of(6), "offset + 1", {"offset"}),
        (m, "M", {"M"}),
        (trip * tile - Poly.of(5) + m - m, "offset - 10", {"offset"}),
        (m * tile - one, "M * TM - 1", {"M", "TM"}),
        (Poly.of(SCALE), "(M // TM)", {"M", "TM"}),
    ],
    ids=str,
)
def test_written_with_names_in_scope(poly, text, reads):
    written = write_in_scope(poly, SCOPE)
    assert written is not None
    assert {"text": written.text, "reads": set(written.reads)} == {"text": text, "reads": reads}


def test_the_latest_name_is_taken():
    assert write_in_scope(pid, (("old", pid), ("new", pid))).text == "new"


def test_what_has_no_name_is_written_out_with_what_it_is_made_of():
    inner = Symbol("(tl.program_id(0) % M)", template="({} % {})", operands=(pid, m))
    assert write_in_scope(Poly.of(inner) * tile, (*PARAMETERS, ("pid", pid))).text == "(pid % M) * TM"
    group = Symbol("cdiv(tl.program_id(0), TM)", template="cdiv({}, {})", operands=(pid, tile))
    assert write_in_scope(Poly.of(group), (*PARAMETERS, ("pid", pid))).text == "tl.cdiv(pid, TM)"


@pytest.mark.parametrize(
    ("template", "operands", "text"),
    [
        ("({} // {})", (pid, tile * m), "(pid // (M * TM))"),
        ("({} % {})", (pid, m - one), "(pid % (M - 1))"),
        ("({} // {})", (pid * tile, m), "((pid * TM) // M)"),
        ("{}.to(tl.int64)", (pid * tile,), "(pid * TM).to(tl.int64)"),
        ("cdiv({}, {})", (pid + one, tile), "tl.cdiv(pid + 1, TM)"),
        (
            "({} // {})",
            (pid, Poly.of(Symbol("cdiv(M, TM)", True, True, template="cdiv({}, {})", operands=(m, tile)))),
            "(pid // tl.cdiv(M, TM))",
        ),
        (
            "({} % {})",
            (Poly.of(Symbol("(pid // M)", template="({} // {})", operands=(pid, m))), tile),
            "((pid // M) % TM)",
        ),
        (
            "({} % {})",
            (Poly.of(Symbol("(pid // M)", template="({} // {})", operands=(pid, m))) * tile, m),
            "(((pid // M) * TM) % M)",
        ),
    ],
)
def test_operands_of_a_function_keep_together(template, operands, text):
    symbol = Symbol(template.format(*operands), template=template, operands=operands)
    assert write_in_scope(Poly.of(symbol), (*PARAMETERS, ("pid", pid))).text == text


def test_an_expression_in_scope_keeps_its_precedence():
    written = write_in_scope(pid * tile, (*PARAMETERS, ("tile % GRID_0", pid)))
    assert written.text == "(tile % GRID_0) * TM"
    assert written.reads == {"tile", "GRID_0", "TM"}


@pytest.mark.parametrize("poly", [Poly.of(LOADED), pid * Poly.of(LOADED), Poly.of(LOADED) + one])
def test_what_has_neither_name_nor_operands_cannot_be_written(poly):
    assert write_in_scope(poly, SCOPE) is None


@pytest.mark.parametrize("poly", [m, pid * m, Poly.of(SCALE)], ids=str)
def test_a_parameter_whose_name_means_something_else_cannot_be_written(poly):
    assert write_in_scope(poly, (("pid", pid), ("TM", tile), ("M", stride))) is None


SYMBOLS = {"pid": PID, "k": TRIP, "M": M, "sm": STRIDE, "TM": TILE}
monomials = st.tuples(st.lists(st.sampled_from(list(SYMBOLS.values())), max_size=2).map(tuple), st.integers(-4, 4))
polys = st.lists(monomials, max_size=4).map(Poly.build)
values = st.fixed_dictionaries({name: st.integers(-9, 9) for name in SYMBOLS})


@settings(deadline=None)
@given(polys, polys, polys, values)
def test_the_text_has_the_value_of_the_polynomial(poly, first, second, at):
    scope = (*PARAMETERS, ("pid", pid), ("k", trip), ("first", first), ("second", second))
    written = write_in_scope(poly, scope)
    assert written is not None
    known = {SYMBOLS[name]: Poly.of(value) for name, value in at.items()}
    names = {**at, **{name: value.substitute(known).constant for name, value in scope}}
    assert eval(written.text, {}, names) == poly.substitute(known).constant
    used = {node.id for node in ast.walk(ast.parse(written.text)) if isinstance(node, ast.Name)}
    assert used == written.reads


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (m, "M"),
        (Poly.of(4), "4"),
        (m * stride - two, "M * sm - 2"),
        (Poly.of(SCALE), "(M // TM)"),
        (Poly.of(Symbol("cdiv(M, TM)", launch=True)), "triton.cdiv(M, TM)"),
        (Poly.of(Symbol("(M and 3)", launch=True)), None),
        (Poly.of(Symbol("(not M)", launch=True)), None),
        (pid, None),
        (sum_of([m, trip]), None),
        (Poly.of(Symbol("tl.exp(M)", launch=True)), None),
        (Poly.of(Symbol("M.to(tl.int64)", launch=True)), None),
    ],
    ids=str,
)
def test_the_guard_reads_parameters_alone(poly, text):
    assert write_for_guard(poly) == text
