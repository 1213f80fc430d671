"""How many programs a kernel needs, from how it takes its ids apart."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of
from tlxify.analyses.grids import programs, quotients

TILE = "tl.load(a_ptr + ({batch}) * sb + (({rows}) * TM + i)[:, None] * sm + (({cols}) * TN + j)[None, :])"
EXTENTS = ("M", "N")


def needed(**parts):
    facts = facts_of(f"x = {TILE.format(**parts)}")
    tile = [d.axis for _, access in facts.accesses for d in access.dimensions if d.axis is not None]
    return programs(facts, dict(zip(tile, EXTENTS, strict=True)), 0)


@pytest.mark.parametrize(
    ("batch", "rows", "cols", "count"),
    [
        ("0", "pid", "0", "cdiv(M, TM)"),
        ("0", "pid // K", "pid % K", "K * cdiv(M, TM)"),
        ("pid // K", "pid % K", "0", "K * outer_0"),
        ("pid // 4 // K", "pid // 4 % K", "pid % 4", "4 * K * outer_0"),
        ("0", "pid % K", "0", "K"),
        ("0", "pid // tl.cdiv(N, TN)", "pid % tl.cdiv(N, TN)", "cdiv(N, TN) * cdiv(M, TM)"),
        ("0", "pid * pid", "0", None),
        ("0", "pid // 4 * 2 + pid % 2", "pid % 4 // 2", None),
    ],
)
def test_programs(batch, rows, cols, count):
    found = needed(batch=batch, rows=rows, cols=cols)
    assert (found[0] if found else None) == count


def test_what_a_quotient_picks_has_a_size_of_its_own():
    facts = facts_of("x = tl.load(a_ptr + (pid // 4 // K) * sb + i)\ny = tl.load(a_ptr + pid * sb + i)")
    first, second = (access.dimensions[0].coordinate for _, access in facts.accesses)
    assert quotients(facts, {}, first) == ("outer_0", "outer_0")
    assert quotients(facts, {}, second) is None


def test_what_a_quotient_that_is_divided_again_picks_is_as_many_as_its_parts():
    facts = facts_of("x = tl.load(a_ptr + (pid // 4) * sb + i)\ny = tl.load(a_ptr + (pid // 4 // K) * sb + i)")
    first, _ = (access.dimensions[0].coordinate for _, access in facts.accesses)
    assert quotients(facts, {}, first) == ("K * outer_0", "outer_0")
