"""What a flag chooses between is one number, one address, one load: exactly what the source has for either answer."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.analyses.kernels import accesses_of, facts_of, kernel_of, shown
from tlxify.analyses import analyze
from tlxify.analyses.chosen import Chooser, flags
from tlxify.facts import Operand
from tlxify.poly import ONE, Poly, Symbol, sum_of
from tlxify.schedules.positions import never_negative
from tlxify.schedules.writing import write_for_guard, write_in_scope

FLAG = Poly.of(Symbol("FLAG", launch=True, constexpr=True))
SM, SK, TM, BASE = (Poly.of(Symbol(name, launch=True)) for name in ("sm", "sk", "TM", "a_ptr"))
PID, TRIP = (Poly.of(Symbol(name)) for name in ("pid", "trip"))


def under(poly: Poly, answer: bool) -> Poly:
    """A sum with every choice in it made."""
    made = {s: s.options[0 if answer else 1] for s in poly.symbols if s.chosen}
    return under(poly.substitute(made), answer) if made else poly


@pytest.mark.parametrize(("holds", "seed"), list(itertools.product((True, False), range(40))))
def test_either_answer_gives_what_that_arm_has(holds, seed):
    draw = random.Random(seed)

    def term(moving):
        fixed = [draw.choice((ONE, SM, SK, TM, SM * TM)) for _ in range(2)]
        return fixed[0] * fixed[1] * moving * Poly.of(draw.randint(1, 3))

    motions = [draw.choice((ONE, PID, TRIP, PID * TRIP)) for _ in range(4)]
    first, second = (BASE + sum_of(map(term, motions)) for _ in range(2))
    choose = Chooser(FLAG, holds=holds)
    found = choose.total(first, second, [(ONE, SM), (SM, ONE)])
    assert found is not None
    assert (under(found, holds), under(found, not holds)) == (first, second)


def test_equal_choices_are_equal_however_they_are_written():
    negated = Poly.of(Symbol("(not FLAG)", launch=True, constexpr=True, template="(not {})", operands=(FLAG,)))
    one = Chooser(FLAG, holds=True).number(ONE, SM)
    assert one == Chooser(negated, holds=True).number(SM, ONE) == Chooser(FLAG, holds=False).number(SM, ONE)
    assert one != Chooser(FLAG, holds=True).number(SM, ONE)
    assert Chooser(FLAG, holds=True).number(TM, TM * SM) == TM * one
    assert Chooser(FLAG, holds=True).number(SM, SM) == SM


def test_a_choice_is_made_where_its_own_flag_is_asked_again():
    inner = Chooser(FLAG, holds=True).number(ONE, SM)
    assert Chooser(FLAG, holds=True).number(inner, SK) == Chooser(FLAG, holds=True).number(ONE, SK)
    assert Chooser(FLAG, holds=True).number(inner, inner) == inner


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(BASE + PID * SM, BASE, id="moves in one arm alone"),
        pytest.param(BASE + PID * SM, BASE + TRIP * SM, id="moves otherwise"),
    ],
)
def test_what_moves_otherwise_is_no_choice(first, second):
    assert Chooser(FLAG, holds=True).total(first, second) is None


def test_another_beginning_is_no_choice_of_strides():
    choose = Chooser(FLAG, holds=True)
    assert choose.total(BASE + ONE, BASE, alike=True) is None
    assert choose.total(BASE + PID, BASE + PID * SM, [(ONE, SM)], alike=True) is not None


def test_only_flags_and_options_choose():
    loaded = Poly.of(Symbol("load@1:2"))
    assert Chooser(loaded, holds=True).number(ONE, SM) is None
    asked = Symbol("(bias is None)", launch=True, constexpr=True)
    assert flags(Poly.of(asked)) is None
    assert flags(FLAG) == ("FLAG",)


def test_pointers_are_no_numbers():
    assert Chooser(FLAG, holds=True, pointers=("a_ptr",)).number(BASE, SM) is None


WRITTEN = [
    pytest.param("s = 1 if FLAG else sm\nt = sk if FLAG else 1", id="conditional expressions"),
    pytest.param("if FLAG:\n    s = 1\n    t = sk\nelse:\n    s = sm\n    t = 1", id="arms"),
    pytest.param("if not FLAG:\n    s = sm\n    t = 1\nelse:\n    s = 1\n    t = sk", id="the opposite is asked"),
    pytest.param("s: tl.constexpr = 1 if FLAG else sm\nt = 1 if not FLAG else sk", id="annotated"),
    pytest.param("s, t = (1, sk) if FLAG else (sm, 1)", id="tuples"),
]


@pytest.mark.parametrize("strides", WRITTEN)
def test_a_chosen_stride_is_a_stride(strides):
    body = f"{strides}\np = a_ptr + (pid * TM + i)[:, None] * s + k[None, :] * t\n"
    body += "for n in range(0, K, TK):\n    x = tl.load(p, mask=(k[None, :] < K - n))\n    p += TK * t\n"
    assert accesses_of(body) == [
        [
            "(1 if FLAG else sm) * (tl.program_id(0) * TM + :TM)",
            "(sk if FLAG else 1) * (trip * TK + :TK) < K",
        ]
    ]


def test_a_chosen_stride_is_written_for_the_guard():
    facts = facts_of("s = 1 if FLAG else sm\nx = tl.load(a_ptr + i * s * 2)")
    (access,) = (access for _, access in facts.accesses)
    assert write_for_guard(access.dimensions[0].stride) == "2 * (1 if FLAG else sm)"
    assert write_for_guard(Chooser(FLAG, holds=True).number(ONE, SM)) == "1 if FLAG else sm"


LOOP = """
acc = tl.zeros((TM, TN), tl.float32)
for n in range(0, K, TK):
    d = n + k
    if FLAG:
        {first}
    else:
        a = tl.load(a_ptr + (pid * TM + i)[:, None] * sm + d[None, :], mask=d[None, :] < K)
    b = tl.load(b_ptr + d[:, None] * sk + j[None, :], mask=d[:, None] < K)
    acc = tl.dot(a, b, acc)
"""
TURNED = "a_ptr + d[:, None] * sm + (pid * TM + i)[None, :], mask=d[:, None] < K"


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(f"a = tl.trans(tl.load({TURNED}))", id="at once"),
        pytest.param(f"a = tl.load({TURNED}).T", id="as an attribute"),
        pytest.param(f"t = tl.load({TURNED})\n        a = tl.trans(t)", id="by another name"),
        pytest.param(f"a = tl.load({TURNED})\n        a = a.trans()", id="by its own name"),
    ],
)
def test_a_tile_that_one_arm_transposes_is_one_load(first):
    facts = facts_of(LOOP.format(first=first.replace("a.trans()", "tl.trans(a)")))
    (load,) = facts.armed
    (dot,) = facts.dots
    assert (dot.a.how, dot.a.load) == (Operand.DIRECT, load.id)
    access = facts.access(load.span)
    assert [shown(facts, d) for d in access.dimensions] == [
        "(1 if FLAG else sm) * (tl.program_id(0) * TM + :TM)",
        "(sm if FLAG else 1) * (trip * TK + :TK) < K",
    ]
    # Where it cannot be used, the arms are still taken one by one.
    assert facts.undecided == ("FLAG",)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(TURNED.replace("a_ptr +", "a_ptr + 1 +"), id="begins elsewhere"),
        pytest.param(TURNED.replace("a_ptr +", "c_ptr +"), id="of another tensor"),
        pytest.param(TURNED.replace("pid * TM + i", "pid * TN + i"), id="of other rows"),
        pytest.param(TURNED.replace("pid * TM + i", "(pid * TM + i) % M"), id="that wraps"),
        pytest.param(TURNED.replace("* sm +", "* sm * 2 + d[:, None] * pid +"), id="that moves further"),
        pytest.param(TURNED + " - 1, other=1.0", id="with another fill"),
        pytest.param(TURNED + ", volatile=True", id="volatile"),
    ],
)
def test_another_tile_stays_another_load(first):
    facts = facts_of(LOOP.format(first=f"a = tl.trans(tl.load({first}))"))
    assert facts.armed == ()
    assert facts.undecided == ("FLAG",)


def test_an_arm_that_masks_otherwise_is_no_tile():
    facts = facts_of(LOOP.format(first=f"a = tl.trans(tl.load({TURNED} - 1))"))
    (load,) = facts.armed
    assert facts.problem(load.span).code == "TLX204"


def test_a_flag_that_chooses_a_pointer_is_settled():
    body = "base = a_ptr if FLAG else b_ptr\nx = tl.load(base + i * sm, mask=i < M)"
    assert [access for _, access in facts_of(body).accesses] == []
    for value, pointer in ((True, "a_ptr"), (False, "b_ptr")):
        facts = analyze(kernel_of(body), {"FLAG": value})
        assert [access.pointer for _, access in facts.accesses] == [pointer]


@pytest.mark.parametrize("steps", ["tl.cdiv(K, TK) - 1 if FLAG else tl.cdiv(K, TK)", "1 if FLAG else 0"])
def test_a_chosen_beginning_is_never_negative_if_neither_is(steps):
    facts = facts_of(f"n = {steps}\nx = tl.load(a_ptr + i + n * TM, mask=i + n * TM < M)")
    (access,) = (access for _, access in facts.accesses)
    assert never_negative(facts, access.dimensions[-1].coordinate)
    # It keeps its name: what is emitted says `n * TM`.
    written = write_in_scope(access.dimensions[-1].coordinate, facts.loads[0].scope)
    assert (written.text, written.reads) == ("n * TM", {"TM", "n"})


def test_a_chosen_beginning_that_is_negative_once_may_be():
    facts = facts_of("n = K - 1 if FLAG else -1\nx = tl.load(a_ptr + i + n * TM, mask=i + n * TM < M)")
    (access,) = (access for _, access in facts.accesses)
    assert not never_negative(facts, access.dimensions[-1].coordinate)
