"""Whether nothing depends on the tiles: a GEMM for which it does not, and one change each for which it does."""

from __future__ import annotations

import pytest

from tlxify.analyses import analyze
from tlxify.analyses.contracts import infer_contract
from tlxify.analyses.tiling import tiling
from tlxify.facts import Tiling
from tlxify.inline import written_out
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

GEMM = """
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 128, "BK": 64, "GROUP": 8}, num_warps=8),
        triton.Config({"BM": 64, "BN": 128, "BK": 64, "GROUP": 4}, num_warps=4),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def kernel(a_ptr, b_ptr, s_ptr, c_ptr, M, N, K, sa, sb, sc, parts, SCALED: tl.constexpr,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    num_m, num_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * num_n) * GROUP
    size = min(num_m - first, GROUP)
    pid_m = first + pid % (GROUP * num_n) % size
    pid_n = pid % (GROUP * num_n) // size
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        at = k + depth
        a = tl.load(a_ptr + rows[:, None] * sa + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        b = tl.load(b_ptr + at[:, None] * sb + cols[None, :], mask=(at[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    if SCALED:
        acc *= tl.load(s_ptr + cols, mask=cols < N, other=0.0)[None, :]
    out = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * sc + cols[None, :], out, mask=(rows[:, None] < M) & (cols[None, :] < N))
"""


def answer(*changes: tuple[str, str]) -> Tiling | str:
    text = GEMM
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (kernel,) = find_kernels(parse_module(SourceFile("kernel.py", text)))
    whole = written_out(kernel)
    facts = analyze(whole)
    return tiling(whole, facts, infer_contract(whole, facts))


def test_a_gemm_may_have_any_tiles():
    found = answer()
    assert isinstance(found, Tiling)
    assert (found.rows, found.columns) == ("BM", "BN")
    assert found.grid == ("cdiv(M, BM) * cdiv(N, BN)",)


STORE = "    out = acc.to("
SCALE = "        acc *= tl.load(s_ptr + cols, mask=cols < N, other=0.0)[None, :]\n"
TIED = {
    "the scale of a tile": (SCALE, "        acc *= tl.load(s_ptr + pid_n)\n", "depends on"),
    "a scale at a multiple": (SCALE, "        acc *= tl.load(s_ptr + pid_m * 4)\n", "depends on"),
    "positions as values": (STORE, "    acc += rows[:, None]\n" + STORE, "what is stored"),
    "the tile's number as a value": (STORE, "    acc += pid_m\n" + STORE, "what is stored"),
    "the length as a value": (STORE, "    acc = acc / BN\n" + STORE, "what is stored"),
    "numbers drawn by place": (STORE, "    acc += tl.rand(7, rows[:, None] * BN + cols[None, :])\n" + STORE, "stored"),
    "a choice by place": (STORE, "    acc = tl.where(cols[None, :] < 5, acc, 0.0)\n" + STORE, "what is stored"),
    "a branch": (STORE, "    if pid_n == 0:\n        acc = acc * 2\n" + STORE, "a condition"),
    "a branch by length": (STORE, "    if BN > 64:\n        acc = acc * 2\n" + STORE, "a condition"),
    "trips": ("range(0, K, BK)", "range(0, K * (pid_m + 1), BK)", "the trips of a loop"),
    "a sum of the row": (STORE, "    acc = acc / tl.sum(acc, 1)[:, None]\n" + STORE, "combines"),
    "what lies in a fixed order": ("num_n = tl.cdiv(M, BM), tl.cdiv(N, BN)", "num_n = tl.cdiv(M, BM), 4", "cover"),
    "rows that nothing masks": (
        "mask=(rows[:, None] < M) & (cols[None, :] < N))",
        "mask=cols[None, :] < N)",
        "",
    ),
    "tiles that overlap": ("rows = pid_m * BM +", "rows = pid_m * (BM // 2) +", ""),
    "a tile that begins elsewhere": ("cols = pid_n * BN +", "cols = pid_n * BN + BM +", ""),
    "tiles of the call": ('"BN": 128, "BK": 64, "GROUP": 8}, num_warps=8', '"BK": 64, "GROUP": 8}, num_warps=8', ""),
    "a promise about the length": (STORE, "    tl.assume(BN == 128)\n" + STORE, "assumes"),
}


@pytest.mark.parametrize(("old", "new", "why"), TIED.values(), ids=TIED)
def test_what_depends_on_the_tiles_keeps_them(old, new, why):
    found = answer((old, new))
    assert isinstance(found, str)
    assert why in found


def test_data_and_what_the_launch_passes_may_be_anything():
    found = answer((STORE, "    acc = tl.maximum(acc * parts, 0.0) + tl.load(s_ptr + 3)\n" + STORE))
    assert isinstance(found, Tiling)


def test_without_a_tuner_the_call_chooses_them():
    head = GEMM[GEMM.index("@triton.autotune") : GEMM.index("@triton.jit")]
    assert answer((head, "")) == "no tuner here lists its tiles"
