"""Parameters that follow from others, and pointers and constexprs that a launch does not choose."""

from __future__ import annotations

import textwrap

from tlxify.analyses import analyze
from tlxify.analyses.assuming import readings
from tlxify.analyses.contracts import infer_contract
from tlxify.contract import complete
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

HEAD = "import triton\nimport triton.language as tl\n\n"


def contract(text: str, assumed: bool = False):
    module = parse_module(SourceFile("kernel.py", HEAD + textwrap.dedent(text)))
    (kernel,) = find_kernels(module)
    facts = [*readings(kernel)][1] if assumed else analyze(kernel)
    return infer_contract(kernel, facts)


COUNTED = """
@triton.jit
def kernel(a, b, c, T, K: tl.constexpr, NT, BT: tl.constexpr):
    cols = tl.arange(0, K)
    acc = tl.zeros([K, K], dtype=tl.float32)
    for i in range(NT):
        rows = i * BT + tl.arange(0, BT)
        x = tl.load(a + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
        y = tl.load(b + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
        acc += tl.dot(tl.trans(x), y)
    tl.store(c + cols[:, None] * K + cols[None, :], acc)
"""


def test_a_loop_over_chunks_has_as_many_as_there_are():
    assert contract(COUNTED).computed == (("NT", "cdiv(T, BT)"),)


def test_what_the_launching_function_computes_is_computed():
    found = contract(
        COUNTED
        + """
def launch(a, b, c, T, K, S):
    NT, BT = triton.cdiv(T, 64), 64
    kernel[(1,)](a, b, c, T, K=K, NT=NT, BT=min(K, 64))
"""
    )
    assert dict(found.computed)["BT"] == "min(K, 64)"


RADIX = """
@triton.jit
def kernel(a, b, c, T, K: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr, NC: tl.constexpr):
    p = tl.program_id(0)
    rows = (p // NC) * BT + (p % NC) * BC + tl.arange(0, BC)
    cols = tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
    y = tl.load(b + cols[:, None] * K + cols[None, :])
    tl.store(c + rows[:, None] * K + cols[None, :], tl.dot(x, y), mask=rows[:, None] < T)
"""


def test_a_chunk_is_as_long_as_its_tiles_and_chunks_count_programs():
    found = contract(RADIX)
    assert found.computed == (("BT", "NC * BC"),)
    assert found.grid == ("NC * cdiv(T, BT)",)


def test_pointers_that_an_assumption_leaves_unused_are_absent():
    found = contract(
        """
@triton.jit
def kernel(a, b, c, lengths, T, K: tl.constexpr, BT: tl.constexpr, VARLEN: tl.constexpr):
    p = tl.program_id(0)
    if VARLEN:
        first = tl.load(lengths + p)
    else:
        first = p * T
    rows = tl.arange(0, BT)
    cols = tl.arange(0, K)
    x = tl.load(a + (first + rows)[:, None] * K + cols[None, :], mask=rows[:, None] < T, other=0.0)
    y = tl.load(b + cols[:, None] * K + cols[None, :])
    tl.store(c + (first + rows)[:, None] * K + cols[None, :], tl.dot(x, y), mask=rows[:, None] < T)
""",
        assumed=True,
    )
    assert found.absent == ("lengths",)
    assert {spec.name: spec.choices for spec in found.constexprs}["VARLEN"] == (False,)


def test_a_tuner_sets_its_own_parameters_alone():
    found = contract(
        COUNTED.replace(
            "@triton.jit",
            '@triton.autotune([triton.Config({"BT": 32}), triton.Config({"BT": 64})], key=["K"])\n@triton.jit',
        )
    )
    assert found.tuned == ("BT",)


def test_what_follows_is_completed_in_any_order():
    found = contract(RADIX)
    known: dict[str, object] = {"NC": 2, "BC": 16}
    complete(found, known)
    assert known["BT"] == 32
