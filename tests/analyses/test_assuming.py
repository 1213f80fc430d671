"""Constexpr parameters that are assumed: which, and what is known then."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import kernel_of, shown
from tlxify.analyses import analyze
from tlxify.analyses.assuming import is_flag, readings, relaxed
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

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


UNIT = """
p = a_ptr + i[:, None] * sm + k[None, :]
for t in range(0, tl.cdiv(K, TK)):
    x = tl.load(p, mask=k[None, :] < K - t * TK, other=0.0)
    p += TK * sk
"""


def test_a_tile_that_moves_by_a_stride_it_does_not_have_is_read_for_launches_where_that_is_1():
    unit, plain = readings(kernel_of(UNIT))
    assert (plain.units, unit.units) == (("sk",), ())
    assert unit.assumed == (("sk", 1),)
    (depth,) = (d for d in unit.accesses[0][1].dimensions if d.extent is not None)
    assert shown(unit, depth) == "1 * (trip * TK + :TK) < K"


def test_a_tile_that_moves_by_its_own_stride_needs_no_assumption():
    (facts,) = readings(kernel_of(UNIT.replace("k[None, :]\n", "k[None, :] * sk\n")))
    assert facts.units == ()


def test_no_more_is_assumed_than_suffices():
    kernel = kernel_of("x = 1 if FLAG else 2\ny = tl.load(a_ptr + i * sm)")
    _, off, _ = readings(kernel)
    assert relaxed(kernel, off, lambda facts: True).assumed == ()
    assert relaxed(kernel, off, lambda facts: bool(facts.assumed)).assumed == (("FLAG", False),)


def test_an_assumption_puts_one_arm_in_place_of_the_branch():
    kernel = kernel_of("if FLAG:\n    x = a_ptr\nelse:\n    x = b_ptr\ny = tl.load(x + i * sm)")
    plain, off, on = readings(kernel)
    (branch,) = (s for s in plain.statements if s.kind == "branch")
    assert (len(branch.body), len(branch.orelse)) == (1, 1)
    assert (off.settled, on.settled) == (((branch.span, False),), ((branch.span, True),))
    assert [s for s in off.statements if s in (*branch.body, *branch.orelse)] == list(branch.orelse)
    assert [s for s in on.statements if s in (*branch.body, *branch.orelse)] == list(branch.body)


def test_one_name_for_two_shapes_makes_no_axes_one():
    body = "x = k[None, :] < K\nif FLAG:\n    x = i[None, :] < M\ny = tl.load(a_ptr + k * sk, mask=k < K)"
    facts = analyze(kernel_of(body))
    assert {axis.length.text() for axis in facts.axes} >= {"TM", "TK"}


def test_flags_decide_conditions_that_ask_for_several():
    body = "if FLAG or TM == 0:\n    n = M\nelse:\n    n = tl.load(b_ptr)\nx = tl.load(a_ptr + i * sm, mask=i < n)"
    assumed = analyze(kernel_of(body), {"FLAG": True})
    assert [d.extent.text() for d in assumed.accesses[0][1].dimensions] == ["M"]


STAGES = """
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, c_ptr, N, s, STAGE: tl.constexpr, T: tl.constexpr):
    pid, i = tl.program_id(0), tl.arange(0, T)
    if STAGE & 2:
        first = 0
    else:
        first = pid * T
    x = tl.load(a_ptr + (first + i) * s, mask=first + i < N)
    tl.store(c_ptr + pid * T + i, x)

def launch(a, c, causal):
    stage = {stage}
    kernel[(4,)](a, c, 64, 1, STAGE=stage, T=16)
"""


@pytest.mark.parametrize(
    ("stage", "values"),
    [("3 if causal else 1", [3, 1]), ("1", [1]), ("causal", []), ("3 if causal else causal", [])],
)
def test_what_is_no_flag_is_read_as_the_launches_make_it(stage, values):
    (kernel,) = find_kernels(parse_module(SourceFile("kernel.py", STAGES.replace("{stage}", stage))))
    plain, *others = readings(kernel)
    assert plain.undecided == ("STAGE",)
    assert [facts.assumed for facts in others] == [(("STAGE", value),) for value in values]
    assert not any(facts.undecided for facts in others)


USUAL = """
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, M, s, FLAG: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, T)
    if FLAG:
        n = M
    else:
        n = tl.load(a_ptr)
    x = tl.load(a_ptr + i * s, mask=i < n)

def launch(a, flag{default}):
    {before}
    kernel[(1,)](a, 1, 1, FLAG={passed}, T=16)
"""


@pytest.mark.parametrize(
    ("default", "before", "passed", "first"),
    [
        ("=True", "pass", "flag", True),
        ("=False", "pass", "flag", False),
        ("", "pass", "flag", False),
        ("=None", "pass", "flag", False),
        ("=True", "flag = a.stride(0) == 1", "flag", False),
        ("", "pass", "True", True),
        ("=True", "pass", "not flag", False),
    ],
)
def test_launches_here_say_which_arm_is_read_first(default, before, passed, first):
    text = USUAL.format(default=default, before=before, passed=passed)
    (kernel,) = find_kernels(parse_module(SourceFile("kernel.py", text)))
    assert [dict(facts.assumed).get("FLAG") for facts in readings(kernel)] == [None, first, not first]
