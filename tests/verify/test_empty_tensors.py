"""Launches with a tensor that has no element: the launcher decides about them by where they would begin."""

from __future__ import annotations

import pytest

from tlxify import convert
from tlxify.source import SourceFile
from tlxify.verify.inputs import edge_cases
from tlxify.verify.simulate import simulate

pytestmark = pytest.mark.triton

SEQUENCES = """\
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=2)], key=["D"])
@triton.jit
def scores(
    q, k, v, out, cu, M, s_qm, s_kt, s_kh, s_vt, s_vh, s_om, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    head = tl.program_id(1)
    seq = tl.program_id(2)
    low = tl.load(cu + seq)
    length = tl.load(cu + seq + 1) - low
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    x = tl.load(q + rm[:, None] * s_qm + rd[None, :], mask=rm[:, None] < M, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, length, BN):
        rn = n + tl.arange(0, BN)
        row = low + rn
        y = tl.load(k + row[None, :] * s_kt + head * s_kh + rd[:, None], mask=rn[None, :] < length, other=0.0)
        z = tl.load(v + row[:, None] * s_vt + head * s_vh + rd[None, :], mask=rn[:, None] < length, other=0.0)
        acc += tl.dot(tl.dot(x, y).to(z.dtype), z)
    tl.atomic_add(out + rm[:, None] * s_om + rd[None, :], acc, mask=rm[:, None] < M)


def launch(q, k, v, out, cu):
    grid = lambda meta: (triton.cdiv(q.shape[0], meta["BM"]), k.shape[1], cu.numel() - 1)
    steps = (q.stride(0), k.stride(0), k.stride(1), v.stride(0), v.stride(1), out.stride(0))
    scores[grid](q, k, v, out, cu, q.shape[0], *steps, D=q.shape[1])
"""


def test_a_launch_without_rows_is_resolved_as_it_is_run():
    conversion = convert(SourceFile("scores.py", SEQUENCES), profitable=False)
    (kernel,) = conversion.kernels
    assert kernel.verdict_word == "converted", kernel.diagnostics
    empty = [case for case in edge_cases(kernel.contract) if case.name == "rows_cu = 0"]
    assert empty, [case.name for case in edge_cases(kernel.contract)]
    tally = simulate(kernel.conversion, cases=empty)
    assert not tally.findings, tally.findings
    assert tally.specialized == len(empty)
