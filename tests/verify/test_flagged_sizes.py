"""Flags that say of sizes that they are whole tiles, as heuristics set them: launches reach both arms of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verify.test_inferred_launches import of_all_sizes
from tlxify import convert
from tlxify.outcome import KernelOutcome
from tlxify.parse.heuristics import truth_values
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile
from tlxify.verify.inputs import edge_cases
from tlxify.verify.simulate import simulate

HEAD = "import triton\nimport triton.language as tl\n\n\n"
SPLIT = """\
@triton.heuristics({"EVEN_K": lambda args: args["K"] % (args["BK"] * args["SPLIT"]) == 0})
@triton.jit
def split(
    a, b, c, M, N, K, s_am, s_bk, s_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr, EVEN_K: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    A = a + (rm % M)[:, None] * s_am + rk[None, :]
    B = b + rk[:, None] * s_bk + (rn % N)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK * SPLIT)):
        if EVEN_K:
            x = tl.load(A)
            y = tl.load(B)
        else:
            left = K - k * (BK * SPLIT)
            x = tl.load(A, mask=rk[None, :] < left, other=0.0)
            y = tl.load(B, mask=rk[:, None] < left, other=0.0)
        acc += tl.dot(x, y)
        A += BK * SPLIT
        B += BK * SPLIT * s_bk
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    tl.atomic_add(c + rm[:, None] * s_cm + rn[None, :], acc.to(c.dtype.element_ty), mask=mask)


def launch(a, b, c, M, N, K):
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64), 2)
    split[grid](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BM=64, BN=64, BK=32, SPLIT=2)
"""
#: The flag says the opposite.
OTHER = SPLIT.replace("if EVEN_K:", "if not ODD:").replace("EVEN_K", "ODD").replace("== 0}", "!= 0}")
#: Arms in arms, of two flags at once.
NESTED = """\
@triton.heuristics({
    "EVEN_M": lambda args: args["M"] % args["BM"] == 0,
    "EVEN_N": lambda args: args["N"] % args["BN"] == 0,
    "EVEN_D": lambda args: args["D"] == args["BD"],
})
@triton.jit
def attend(
    Q, K, O, M, N, D, sq, sk, so, EVEN_M: tl.constexpr, EVEN_N: tl.constexpr, EVEN_D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.arange(0, BN)
    od = tl.arange(0, BD)
    qp = Q + om[:, None] * sq + od[None, :]
    kp = K + on[:, None] * sk + od[None, :]
    acc = tl.zeros([BM, BD], dtype=tl.float32)
    q = tl.load(qp, mask=(om[:, None] < M) & (od[None, :] < D), other=0.0)
    for start in range(0, N, BN):
        if EVEN_N & EVEN_M:
            if EVEN_D:
                k = tl.load(kp + start * sk)
            else:
                k = tl.load(kp + start * sk, mask=od[None, :] < D, other=0.0)
        else:
            if EVEN_D:
                k = tl.load(kp + start * sk, mask=(start + on)[:, None] < N, other=0.0)
            else:
                k = tl.load(kp + start * sk, mask=((start + on)[:, None] < N) & (od[None, :] < D), other=0.0)
        p = tl.where(start + on[None, :] < N, tl.sigmoid(tl.dot(q, tl.trans(k))), 0.0)
        acc += tl.dot(p.to(k.dtype), k)
    tl.store(O + om[:, None] * so + od[None, :], acc, mask=(om[:, None] < M) & (od[None, :] < D))


def launch(q, k, o, M, N, D):
    attend[(triton.cdiv(M, 64),)](q, k, o, M, N, D, q.stride(0), k.stride(0), o.stride(0), BM=64, BN=64, BD=64)
"""


def converted(text: str) -> KernelOutcome:
    (kernel,) = convert(SourceFile("kernels.py", HEAD + text), profitable=False).kernels
    assert kernel.verdict_word == "converted", [d.message for d in kernel.diagnostics]
    return kernel


def launched(text: str) -> list[dict[str, object]]:
    contract = converted(text).contract
    return [
        {**dict(case.values), **case.constants(contract)} for case in edge_cases(contract) if case.path != "original"
    ]


def test_whole_tiles_are_asked_for_where_the_flag_is_set():
    assert converted(SPLIT).contract.multiples == (("K", "max(1, EVEN_K * BK * SPLIT)"),)
    found = launched(SPLIT)
    assert {values["EVEN_K"] for values in found} == {False, True}
    assert all(values["K"] % (values["BK"] * values["SPLIT"]) == 0 for values in found if values["EVEN_K"])
    assert any(values["K"] % (values["BK"] * values["SPLIT"]) for values in found)


def test_the_other_way_round():
    assert converted(OTHER).contract.multiples == (("K", "max(1, (1 - ODD) * BK * SPLIT)"),)
    found = launched(OTHER)
    assert all(values["K"] % (values["BK"] * values["SPLIT"]) == 0 for values in found if not values["ODD"])
    assert any(values["K"] % (values["BK"] * values["SPLIT"]) for values in found if values["ODD"])


def test_flags_together_and_a_tile_that_covers_a_size():
    contract = converted(NESTED).contract
    assert contract.multiples == (("N", "max(1, EVEN_M * EVEN_N * BN)"), ("D", "max(1, EVEN_D * BD)"))
    assert contract.covered == (("D", "BD"),)
    found = launched(NESTED)
    for flag in ("EVEN_M", "EVEN_N", "EVEN_D"):
        assert {values[flag] for values in found} == {False, True}, flag
    assert any(values["D"] % values["BD"] for values in found)
    assert all(values["D"] == values["BD"] for values in found if values["EVEN_D"])
    assert any(values["N"] % values["BN"] for values in found)


@pytest.mark.parametrize("operator", ["&", "|", "and", "or"])
def test_flags_that_are_asked_for_together_are_flags(operator):
    text = SPLIT.replace("if EVEN_K:", f"if EVEN_K {operator} SURE:").replace(
        "EVEN_K: tl", "SURE: tl.constexpr, EVEN_K: tl"
    )
    text = text.replace("SPLIT=2)", "SPLIT=2, SURE=sure)")
    kinds = {spec.name: spec.choices for spec in converted(text).contract.constexprs}
    assert (kinds["EVEN_K"], kinds["SURE"]) == ((False, True), (False, True))


HEURISTICS = {
    "lambda": ('lambda args: args["x"] is not None', True),
    "call": ('lambda args: bool(args["x"])', True),
    "negated": ('lambda args: not args["x"]', True),
    "both": ('lambda args: args["x"] > 1 and args["y"] == 2', True),
    "chosen": ('lambda args: True if args["x"] else args["y"] == 2', True),
    "function": ("even", True),
    "length": ('lambda args: triton.next_power_of_2(args["x"])', False),
    "mixed": ('lambda args: args["x"] and args["y"] == 1', False),
    "unknown": ("imported", False),
}


@pytest.mark.parametrize(("heuristic", "truth"), HEURISTICS.values(), ids=HEURISTICS)
def test_heuristics_that_are_truth_values_are_read(heuristic, truth):
    text = f"def even(args):\n    return args['K'] % 2 == 0\n\n\n@triton.heuristics({{'FLAG': {heuristic}}})\n"
    text += "@triton.jit\ndef kernel(x, FLAG: tl.constexpr):\n    tl.store(x, FLAG + 1)\n"
    (kernel,) = find_kernels(parse_module(SourceFile("m.py", HEAD + text)))
    assert truth_values(kernel) == (frozenset({"FLAG"}) if truth else frozenset())


@pytest.mark.triton
@pytest.mark.parametrize("text", [SPLIT, OTHER, NESTED], ids=["even", "odd", "nested"])
def test_every_launch_is_one_of_the_kernel(text):
    conversion = converted(text).conversion
    tally = simulate(conversion, cases=of_all_sizes(conversion.contract))
    assert not tally.source_fails
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]


@pytest.mark.triton
def test_drawn_launches_are_valid_as_well():
    tally = simulate(converted(SPLIT).conversion, share=(0, 1000), drawn=12)
    assert tally.specialized > 1
    assert not tally.source_fails
    assert not tally.findings


@pytest.mark.triton
@pytest.mark.parametrize("text", [SPLIT, OTHER], ids=["even", "odd"])
def test_a_conversion_that_is_wrong_in_the_ragged_arm_alone_is_found(text):
    conversion = converted(text).conversion
    wrong = conversion.module_text.partition("@triton.jit")
    assert wrong[0].count("tl.cdiv(K, BK * SPLIT)") >= 3
    text = wrong[0].replace("tl.cdiv(K, BK * SPLIT)", "K // (BK * SPLIT)") + wrong[1] + wrong[2]
    assert simulate(replace(conversion, module_text=text), cases=of_all_sizes(conversion.contract)).findings
