"""Loops: names that step by an invariant amount are known on every trip, the others only on the first."""

from __future__ import annotations

import re

import pytest

from tests.analyses.kernels import facts_of
from tlxify.diagnostics import Decline


def inside(before, body, after=""):
    """What scalars in scope of a load in the loop hold, by name."""
    facts = facts_of(
        f"{before}\nfor t in range(2, K, 3):\n    x = tl.load(a_ptr + i)\n"
        + "".join(f"    {line}\n" for line in body.splitlines())
        + after
    )
    load = facts.loads[-1]
    return {
        name: re.sub(r"@[\d:]+", "", str(value))
        for name, value in load.scope
        if name not in ("pid", "t") and name.islower()
    }


@pytest.mark.parametrize(
    ("before", "body", "value"),
    [
        ("n = 5", "n += 2", "2 * trip + 5"),
        ("n = M", "n = n + sm", "trip * sm + M"),
        ("n = M", "n -= 1", "M - trip"),
        ("n = pid", "n = 1 + n", "tl.program_id(0) + trip"),
        ("n = pid", "n = n * 2", "n"),
        ("n = pid", "n = t", "n"),
        ("n = 1\nm = 1", "m = n\nn = 2", "n"),
    ],
)
def test_a_scalar_at_the_start_of_a_trip(before, body, value):
    assert inside(before, body)["n"] == value


def test_the_counter_runs_from_start_by_step():
    (loop,) = facts_of("for t in range(2, K, 3):\n    pass").loops
    assert (str(loop.start), str(loop.stop), str(loop.step)) == ("2", "K", "3")
    assert loop.text == ("2", "K", "3")


def test_what_a_loop_changed_is_unknown_behind_it():
    facts = facts_of("n = 1\nm = 1\nfor t in range(K):\n    n += 1\nx = tl.load(a_ptr + i)")
    values = {name: str(value) for name, value in facts.loads[0].scope}
    assert values["m"] == "1"
    assert values["n"].startswith("n@after")


def test_a_body_is_recorded_once_with_its_loops():
    facts = facts_of("for s in range(M):\n    for t in range(K):\n        x = tl.load(a_ptr + i)")
    (load,) = facts.loads
    assert len(facts.loops) == 2
    assert [next(loop.variable for loop in facts.loops if loop.span == span) for span in load.loops] == ["s", "t"]


@pytest.mark.parametrize(
    "head",
    ["for t in [1, 2]:", "for t, s in range(K):", "for t in range():", "for t in tl.range(arg1=K):", "for t in K:"],
)
def test_a_loop_over_anything_else_is_declined(head):
    with pytest.raises(Decline) as refusal:
        facts_of(f"{head}\n    pass")
    assert refusal.value.diagnostic.code == "TLX104"
