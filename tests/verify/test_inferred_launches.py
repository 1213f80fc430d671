"""Launches that are inferred of kernels with several loops, or whose tiles a program works off: all of them are valid.

A launch that is none makes the source fail, or leaves to the original what should be specialized.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tlxify import convert
from tlxify.source import SourceFile
from tlxify.verify.inputs import edge_cases
from tlxify.verify.simulate import simulate

pytestmark = pytest.mark.triton

HEAD = "import triton\nimport triton.language as tl\n\n\n"
#: By name: the kernel and its launch.
KERNELS = {
    "sibling loops, masked": """\
@triton.jit
def low_rank(
    x, w, h, u, out, M, N, K, R, sxm, swk, shm, sur, som, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for j in range(tl.cdiv(R, BK)):
        kk = j * BK + rk
        a = tl.load(h + rm[:, None] * shm + kk[None, :], mask=(rm[:, None] < M) & (kk[None, :] < R), other=0)
        b = tl.load(u + kk[:, None] * sur + rn[None, :], mask=(rn[None, :] < N) & (kk[:, None] < R), other=0)
        acc += tl.dot(a, b)
    for j in range(tl.cdiv(K, BK)):
        kk = j * BK + rk
        a = tl.load(x + rm[:, None] * sxm + kk[None, :], mask=(rm[:, None] < M) & (kk[None, :] < K), other=0)
        b = tl.load(w + kk[:, None] * swk + rn[None, :], mask=(rn[None, :] < N) & (kk[:, None] < K), other=0)
        acc += tl.dot(a, b)
    tl.store(out + rm[:, None] * som + rn[None, :], acc.to(out.type.element_ty), (rm[:, None] < M) & (rn[None, :] < N))


def launch(x, w, h, u, out, M, N, K, R):
    steps = (x.stride(0), w.stride(0), h.stride(0), u.stride(0), out.stride(0))
    grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
    low_rank[grid](x, w, h, u, out, M, N, K, R, *steps, BM=128, BN=128, BK=32, num_warps=4, num_stages=4)
""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_launch_is_one_of_the_kernel(name):
    (kernel,) = convert(SourceFile("kernels.py", HEAD + KERNELS[name]), profitable=False).kernels
    assert kernel.verdict_word == "converted", [d.message for d in kernel.diagnostics]
    cases = edge_cases(kernel.contract)
    tally = simulate(kernel.conversion, cases=[replace(case, schedules=("late",)) for case in cases])
    assert not tally.source_fails
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]
    assert tally.specialized >= 8


def test_the_depth_of_each_loop_is_told():
    (kernel,) = convert(SourceFile("kernels.py", HEAD + KERNELS["sibling loops, masked"]), profitable=False).kernels
    assert kernel.contract.contracted == ("R", "BK")
    assert ("K", "BK") in kernel.contract.tiled
    trips = [case.name for case in edge_cases(kernel.contract) if " trips beside K = " in case.name]
    assert len(trips) == 4, trips
