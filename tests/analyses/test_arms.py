"""Loads and masks in arms that the compilation settles: one tile, and what the launch must confirm."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of, shown
from tlxify.facts import Operand
from tlxify.schedules.writing import claims

BOTH = """
p = a_ptr + i[:, None] * sm + k[None, :]
q = b_ptr + k[:, None] * sk + j[None, :]
acc = tl.zeros((TM, TN), tl.float32)
for t in range(0, tl.cdiv(K, TK)):
{loads}
    acc = tl.dot(a, b, acc)
    p += TK
    q += TK * sk
"""
B = "    b = tl.load(q, mask=k[:, None] < K - t * TK, other=0.0)\n"
MASKED, PLAIN = "tl.load(p, mask=k[None, :] < K - t * TK, other=0.0)", "tl.load(p)"
ARMS = f"    if {{test}}:\n        a = {{first}}\n    else:\n        a = {{second}}\n{B}"


def armed(test="FLAG", first=PLAIN, second=MASKED):
    return facts_of(BOTH.format(loads=ARMS.format(test=test, first=first, second=second)))


@pytest.mark.parametrize(
    ("test", "first", "second", "confirmed"),
    [
        pytest.param("FLAG", PLAIN, MASKED, "not FLAG or K % TK == 0", id="the first arm masks nothing"),
        pytest.param("FLAG", MASKED, PLAIN, "FLAG or K % TK == 0", id="the second arm masks nothing"),
        pytest.param("not FLAG", MASKED, PLAIN, "not FLAG or K % TK == 0", id="the opposite is asked"),
        pytest.param("FLAG == 2", PLAIN, MASKED, "not (FLAG == 2) or K % TK == 0", id="a comparison is asked"),
        pytest.param(
            "FLAG and TM == 2", PLAIN, MASKED, "not (FLAG and (TM == 2)) or K % TK == 0", id="two things are asked"
        ),
    ],
)
def test_a_load_in_two_arms_is_one(test, first, second, confirmed):
    facts = armed(test, first, second)
    (load,) = facts.armed
    (dot,) = facts.dots
    assert (dot.a.how, dot.a.load) == (Operand.DIRECT, load.id)
    assert load.target == "a"
    assert [facts.loads[part].target for part in load.parts] == ["a", "a"]
    assert load.statement.contains(facts.loads[load.parts[0]].span)
    access = facts.access(load.span)
    assert [shown(facts, d) for d in access.dimensions] == ["sm * (0 + :TM)", "1 * (trip * TK + :TK) < K"]
    assert claims(facts, access) == (confirmed,)


def test_arms_that_mask_alike_ask_for_nothing():
    facts = armed(first=MASKED, second=MASKED.replace("0.0)", "0.0, cache_modifier='.cg')"))
    (load,) = facts.armed
    assert claims(facts, facts.access(load.span)) == ()


def test_two_loads_in_the_same_arms_are_told_apart():
    text = "    if FLAG:\n        a = tl.load(p)\n        b = tl.load(q)\n    else:\n"
    text += f"        a = {MASKED}\n    {B}"
    facts = facts_of(BOTH.format(loads=text))
    first, second = facts.armed
    assert first.statement == second.statement
    assert {facts.access(load.span).pointer for load in (first, second)} == {"a_ptr", "b_ptr"}


def test_a_conditional_expression_has_arms_as_well():
    facts = facts_of(BOTH.format(loads=f"    a = {PLAIN} if FLAG else {MASKED}\n{B}"))
    (load,) = facts.armed
    assert load.target == "a"
    assert claims(facts, facts.access(load.span)) == ("not FLAG or K % TK == 0",)


NESTED = """
    if FLAG:
        if TN == 8:
            mask = None
        else:
            mask = i[:, None] < M
    else:
        deep = k[None, :] < K - t * TK
        if TN == 8:
            mask = deep
        else:
            mask = (i[:, None] < M) & deep
    a = tl.load(p, mask=mask)
"""


def test_a_mask_made_in_arms_holds_every_bound_unless_its_arm_is_not_taken():
    facts = facts_of(BOTH.format(loads=NESTED + B))
    assert facts.armed == ()
    access = facts.accesses[0][1]
    assert [shown(facts, d) for d in access.dimensions] == ["sm * (0 + :TM) < M", "1 * (trip * TK + :TK) < K"]
    assert claims(facts, access) == (
        "not FLAG or not (TN == 8) or M % TM == 0",
        "FLAG or not (TN == 8) or M % TM == 0",
        "not FLAG or K % TK == 0",
    )


@pytest.mark.parametrize(
    ("test", "first", "second"),
    [
        pytest.param("FLAG", "tl.load(p + 1)", MASKED, id="another tile"),
        pytest.param("FLAG", PLAIN, MASKED.replace("0.0", "1.0"), id="another fill"),
        pytest.param("FLAG", "tl.load(p).to(tl.float16)", MASKED, id="computed in one arm"),
        pytest.param("FLAG", "tl.load(p, mask=k[None, :] >= t)", MASKED, id="a mask that is no bound"),
        pytest.param("t < 3", PLAIN, MASKED, id="decided while the kernel runs"),
    ],
)
def test_arms_that_differ_in_more_stay_two(test, first, second):
    facts = armed(test, first, second)
    assert facts.armed == ()
    assert facts.dots[0].a.how is Operand.COMPUTED


def test_tiles_between_multiples_confirm_nothing():
    facts = facts_of("x = tl.load(a_ptr + i + 3, mask=(i + 3 < M) if FLAG else None)")
    assert claims(facts, facts.accesses[0][1]) is None


def test_a_store_that_an_arm_does_not_mask_masks_nothing():
    facts = facts_of("mask = None if FLAG else i < M\ntl.store(c_ptr + i, i, mask=mask)")
    assert facts.stores[0].bounds == ()
    assert facts_of("tl.store(c_ptr + i, i, mask=i < M)").stores[0].bounds != ()
