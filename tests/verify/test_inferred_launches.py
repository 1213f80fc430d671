"""Launches that are inferred of kernels with several loops, or whose tiles a program works off: all of them are valid.

A launch that is none makes the source fail, or leaves to the original what should be specialized.
"""

from __future__ import annotations

import re
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
    "a tail behind pointers that have moved": """\
@triton.jit
def peeled(a, b, c, m, n, k, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    kk = tl.arange(0, BK)
    pa = a + (i % m)[:, None] * lda + kk[None, :]
    pb = b + kk[:, None] + (j % n)[None, :] * ldb
    acc = tl.zeros((BM, BN), tl.float32)
    whole = k // BK
    for _ in range(whole):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK
    left = k % BK
    if left > 0:
        x = tl.load(pa, mask=kk[None, :] < left, other=0.0)
        y = tl.load(pb, mask=kk[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * ldc + j[None, :], acc.to(c.dtype.element_ty), mask=(i[:, None] < m) & (j[None, :] < n))


def launch(a, w, c):
    grid = (triton.cdiv(a.shape[0], 64), triton.cdiv(w.shape[0], 128))
    m, n, k = a.shape[0], w.shape[0], a.shape[1]
    peeled[grid](a, w, c, m, n, k, a.stride(0), w.stride(0), c.stride(0), 64, 128, 64, num_warps=4, num_stages=4)
""",
    "a batch that a while loop works off": """\
@triton.jit
def bmm(A, B, C, batch, M, N, K, a_b, a_m, b_b, b_k, c_b, c_m, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    tn = (N + BN - 1) // BN
    per = (M + BM - 1) // BM * tn
    while pid < per * batch:
        bid = pid // per
        rest = pid - bid * per
        rows = rest // tn * BM + tl.arange(0, BM)
        cols = rest % tn * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for kb in range(0, K, BK):
            ks = kb + tl.arange(0, BK)
            of_a = (rows[:, None] < M) & (ks[None, :] < K)
            of_b = (ks[:, None] < K) & (cols[None, :] < N)
            x = tl.load(A + bid * a_b + rows[:, None] * a_m + ks[None, :], mask=of_a, other=0.0)
            y = tl.load(B + bid * b_b + ks[:, None] * b_k + cols[None, :], mask=of_b, other=0.0)
            acc += tl.dot(x, y)
        place = C + bid * c_b + rows[:, None] * c_m + cols[None, :]
        tl.store(place, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
        pid += tl.num_programs(0)


def launch(a, b, c):
    steps = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    bmm[(12,)](a, b, c, a.shape[0], a.shape[1], b.shape[2], a.shape[2], *steps, 128, 128, 64, num_warps=8)
""",
    "split-k whose turns are not masked": """\
@triton.heuristics({"EVEN_K": lambda args: args["K"] % (args["BK"] * args["SPLIT"]) == 0})
@triton.jit
def split(
    a, b, c, M, N, K, s_am, s_bk, s_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr, EVEN_K: tl.constexpr,
):
    pm, pn, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = z * BK + tl.arange(0, BK)
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
    place = c + rm[:, None] * s_cm + rn[None, :]
    tl.atomic_add(place, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


def launch(a, b, c, M, N, K):
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64), 4)
    steps = (a.stride(0), b.stride(0), c.stride(0))
    split[grid](a, b, c, M, N, K, *steps, BM=64, BN=64, BK=64, SPLIT=4, num_warps=4, num_stages=4)
""",
    "split-k in one piece each": """\
@triton.jit
def split(a, b, c, splits, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    per = tl.cdiv(tl.cdiv(K, BK), splits)
    z = tl.program_id(2)
    for kt in range(z * per, min((z + 1) * per, tl.cdiv(K, BK))):
        rk = kt * BK + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * lda + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(b + rk[:, None] * ldb + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.atomic_add(c + rm[:, None] * ldc + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def launch(a, b, c, M, N, K):
    grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
    steps = (a.stride(0), b.stride(0), c.stride(0))
    split[(*grid, 4)](a, b, c, 4, M, N, K, *steps, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
""",
}

_MASKED = KERNELS["sibling loops, masked"]
_OPEN_K = _MASKED.replace(" & (kk[None, :] < K)", "").replace(" & (kk[:, None] < K)", "")
#: The same without masks along what the loops walk, in one of them or in both: sizes are whole tiles there.
SIBLINGS = {
    "second": _OPEN_K,
    "both": _OPEN_K.replace(" & (kk[None, :] < R)", "").replace(" & (kk[:, None] < R)", ""),
}
SIBLINGS["whole tiles alone"] = (
    SIBLINGS["both"].replace("tl.cdiv(R, BK)", "R // BK").replace("tl.cdiv(K, BK)", "K // BK")
)
SIBLINGS["steps"] = (
    SIBLINGS["both"]
    .replace("range(tl.cdiv(R, BK))", "range(0, R, BK)")
    .replace("range(tl.cdiv(K, BK))", "range(0, K, BK)")
    .replace("j * BK + rk", "j + rk")
)
KERNELS |= {f"sibling loops, {name} not masked": text for name, text in SIBLINGS.items()}


def of_all_sizes(contract):
    """Every launch but those that differ in what elements are and how they lie: that makes no launch valid."""
    other = re.compile(r"transposed|odd$|overlap$|contiguous| data$|^dtype")
    return [replace(case, schedules=("late",)) for case in edge_cases(contract) if not other.search(case.name)]


@pytest.mark.parametrize("name", KERNELS)
def test_every_launch_is_one_of_the_kernel(name):
    (kernel,) = convert(SourceFile("kernels.py", HEAD + KERNELS[name]), profitable=False).kernels
    assert kernel.verdict_word == "converted", [d.message for d in kernel.diagnostics]
    tally = simulate(kernel.conversion, cases=of_all_sizes(kernel.contract))
    assert not tally.source_fails
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]
    assert tally.specialized >= 8


def test_the_depth_of_each_loop_is_told():
    (kernel,) = convert(SourceFile("kernels.py", HEAD + KERNELS["sibling loops, masked"]), profitable=False).kernels
    assert kernel.contract.contracted == ("R", "BK")
    assert ("K", "BK") in kernel.contract.tiled
    trips = [case.name for case in edge_cases(kernel.contract) if " trips beside K = " in case.name]
    assert len(trips) == 4, trips


def test_turns_that_are_shared_out_tell_how_many_programs_share():
    (kernel,) = convert(
        SourceFile("k.py", HEAD + KERNELS["split-k whose turns are not masked"]), profitable=False
    ).kernels
    assert kernel.contract.grid == ("cdiv(M, BM)", "cdiv(N, BN)", "SPLIT")


@pytest.mark.parametrize("name", SIBLINGS)
def test_loops_without_masks_have_sizes_of_their_own(name):
    (kernel,) = convert(SourceFile("kernels.py", HEAD + SIBLINGS[name]), profitable=False).kernels
    contract = kernel.contract
    shapes = {tensor.name: tensor.shape for tensor in contract.tensors}
    assert (shapes["x"], shapes["w"]) == (("M", "K"), ("K", "N"))
    assert (shapes["h"], shapes["u"]) == (("M", "R"), ("R", "N"))
    assert set(contract.multiples) == {("K", "BK")} | ({("R", "BK")} if name != "second" else set())
    for case in edge_cases(contract):
        assert all(dict(case.values)[size] % case.constants(contract)[step] == 0 for size, step in contract.multiples)


def test_the_tail_of_a_peeled_loop_has_something_to_do():
    text = KERNELS["a tail behind pointers that have moved"]
    (kernel,) = convert(SourceFile("kernels.py", HEAD + text), profitable=False).kernels
    assert kernel.contract.multiples == ()
    assert kernel.contract.contracted == ("k", "BK")


def test_behind_a_loop_of_unknown_length_no_pointer_is_known():
    text = KERNELS["a tail behind pointers that have moved"].replace("(a, b, c, m,", "(a, b, c, trips, m,")
    text = text.replace("whole = k // BK", "whole = tl.load(trips)")
    (kernel,) = convert(SourceFile("kernels.py", HEAD + text), profitable=False).kernels
    assert kernel.verdict_word == "declined"
    assert "how many trips have moved `pa` before it is not known" in kernel.diagnostics[0].message
