"""Constexpr parameters that are assumed: which, and what is known then."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import kernel_of, shown
from tlxify.analyses.assuming import is_flag, readings

SEQUENCES = """
if FLAG:
    start = tl.load(b_ptr + pid)
    N = tl.load(b_ptr + pid + 1) - start
else:
    start = pid * N
x = tl.load(a_ptr + (start + i)[:, None] * sm + k[None, :], mask=i[:, None] < N, other=0.0)
"""


def test_sequences_of_one_length_and_of_many_are_read_apart():
    plain, equal, many = readings(kernel_of(SEQUENCES))
    assert (plain.assumed, plain.undecided) == ((), ("FLAG",))
    assert (equal.assumed, many.assumed) == ((("FLAG", False),), (("FLAG", True),))
    for facts, dynamic in ((plain, True), (equal, False), (many, True)):
        ((_, access),) = facts.accesses
        assert access.dynamic == dynamic
    assert [shown(equal, d) for d in equal.accesses[0][1].dimensions] == [
        "N * sm * (tl.program_id(0))",
        "sm * (0 + :TM) < N",
        "1 * (0 + :TK)",
    ]


def test_nothing_is_assumed_where_everything_is_known():
    (facts,) = readings(kernel_of("x = tl.load(a_ptr + i * sm)"))
    assert facts.assumed == ()


@pytest.mark.parametrize(
    ("body", "flag"),
    [
        ("if FLAG:\n    x = 1", True),
        ("if not FLAG and TM:\n    x = 1", True),
        ("x = 1 if FLAG else 2", True),
        ("if FLAG == 3:\n    x = 1", False),
        ("if FLAG:\n    x = FLAG + 1", False),
        ("x = 1", False),
    ],
)
def test_a_flag_is_asked_for_its_truth_alone(body, flag):
    assert is_flag(kernel_of(body), "FLAG") == flag


def test_a_parameter_of_the_launch_is_no_flag():
    assert not is_flag(kernel_of("if M:\n    x = 1"), "M")
