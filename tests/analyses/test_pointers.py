"""Which parameter an address is relative to does not depend on what the parameters are called."""

from __future__ import annotations

import pytest

from tlxify import convert
from tlxify.source import SourceFile

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, {given}M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    {first}
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = {columns}tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range({start}, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + (rm[:, None]{row}) * lda + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(b + rk[:, None] * ldb + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * ldc + rn[None, :], acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))
"""
LAUNCH = """

def launch(a, b, c, M, N, K, lda, off{host}):
    {before}
    kernel[(triton.cdiv(M, 128), triton.cdiv(N, 128))](
        a, b, c, {passed}M, N, K, {lda}, ldb=b.stride(0), ldc=c.stride(0), BM=128, BN=128, BK=64, num_warps=8
    )
"""
PLAIN = {"given": "", "first": "pass", "columns": "", "start": "0", "row": ""}
HOST = {"host": "", "before": "pass", "passed": "", "lda": "a.stride(0)"}
OFFSET = {"given": "o, ", "first": "a = a + o"}


def outcome(kernel, launch=None):
    text = KERNEL.format(**{**PLAIN, **kernel})
    text += LAUNCH.format(**{**HOST, **launch}) if launch is not None else ""
    return convert(SourceFile("kernel.py", text)).kernels[0]


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param({"given": "o, ", "start": "o"}, id="begins a loop"),
        pytest.param({"given": "o, ", "columns": "o + "}, id="is compared"),
        pytest.param({"row": " + 1"}, id="is a factor"),
        pytest.param({**OFFSET, "given": "o: tl.int32, "}, id="is annotated"),
        pytest.param({**OFFSET, "first": "a = a + o\n    d = a.dtype"}, id="is added to what has an element type"),
        pytest.param({**OFFSET, "first": "a = a + o\n    rest = o // BK"}, id="is divided"),
        pytest.param({"given": "nptr, ", "columns": "nptr + "}, id="is called a pointer"),
    ],
)
def test_number_by_the_kernel(kernel):
    found = outcome(kernel)
    assert found.verdict_word == "converted", [d.message for d in found.diagnostics]


@pytest.mark.parametrize(
    "launch",
    [
        {"passed": "128, ", "lda": "lda"},
        {"passed": "b.stride(0), ", "lda": "lda"},
        {"passed": "b.shape[0], ", "lda": "lda"},
        {"passed": "b.size(0) * 2, ", "lda": "lda"},
        {"host": ", more: int", "passed": "more, ", "lda": "lda"},
        {"before": "more = b.numel() // 2", "passed": "more, ", "lda": "lda"},
        {"passed": "off, "},  # whose stride is passed is a tensor
    ],
    ids=str,
)
def test_number_by_the_launch(launch):
    found = outcome(OFFSET, launch)
    assert found.verdict_word == "converted", [d.message for d in found.diagnostics]


@pytest.mark.parametrize("launch", [None, {"passed": "off, ", "lda": "lda"}], ids=str)
def test_either(launch):
    """Where nothing tells which of two is the pointer, the kernel is declined, by names of the source's alone."""
    (diagnostic,) = outcome(OFFSET, launch).diagnostics
    assert diagnostic.code == "TLX201"
    assert "`x`" in diagnostic.message
    assert "`a` or `o`" in diagnostic.message
