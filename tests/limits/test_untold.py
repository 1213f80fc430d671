"""What cannot be told is said, with the reason; nothing is guessed and nothing is raised."""

from __future__ import annotations

import pytest

from tlxify.limit import Limit, Untold
from tlxify.limits import limited
from tlxify.outcome import FileConversion, KernelOutcome
from tlxify.pipeline import analyze
from tlxify.source import SourceFile

from .kernels import CORPUS, HEADER, of_text

GEMM = """\
@triton.autotune([triton.Config({{"BM": 128, "BN": 128, "BK": 64}}, num_warps=8)], key=["K"])
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, n_ptr, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, {stop}):
        depth = k * BK + tl.arange(0, BK)
        a_mask = (rows[:, None] < M) & (depth[None, :] < K)
        b_mask = (depth[:, None] < K) & (cols[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * sa + depth[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + depth[:, None] * sb + cols[None, :], mask=b_mask, other=0.0)
{body}
    tl.store(c_ptr + rows[:, None] * sc + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))
"""
DOT = "        acc = tl.dot(a, b, acc)"
EITHER = """\
        if tl.load(n_ptr) > k:
            acc = tl.dot(a, b, acc)
        else:
            acc = tl.dot(a, b * 2.0, acc)"""
SOMETIMES = """\
        if tl.load(n_ptr) > k:
            a = a * 2.0
        acc = tl.dot(a, b, acc)"""


def gemm(stop: str = "tl.cdiv(K, BK)", body: str = DOT) -> Limit | Untold | None:
    return of_text(GEMM.format(stop=stop, body=body))


def test_the_kernel_of_these_tests_is_told():
    assert isinstance(gemm(), Limit)


def test_trips_that_are_loaded():
    found = gemm(stop="tl.load(n_ptr)")
    assert isinstance(found, Untold)
    assert found.why == "no launch tells how many trips the loop in line 11 makes, from `0` to `tl.load(n_ptr)`"


@pytest.mark.parametrize(("path", "line"), [("gemm/stream_k.py", 18), ("gemm/while_tiles.py", 17)])
def test_loops_that_nothing_counts(path, line):
    source = SourceFile.read(CORPUS / path)
    (found,) = analyze(source)
    outcome = KernelOutcome(found.kernel.name, found.kernel.span, "converted")
    (kernel,) = limited(FileConversion(source, (outcome,))).kernels
    assert kernel.limit == Untold(f"no launch tells how many trips the loop in line {line} makes")


def test_one_of_two_dots():
    found = gemm(body=EITHER)
    assert isinstance(found, Untold)
    assert "which of the dots in the two arms of the branch in line 17 is made" in found.why


def test_work_that_is_done_in_some_trips_counts_in_all_and_is_named():
    found, plain = gemm(body=SOMETIMES), gemm()
    assert isinstance(found, Limit)
    assert isinstance(plain, Limit)
    assert found.trip is not None
    assert found.trip.branches == ("line 17",)
    assert found.trip.effort.ordinary == 128 * 64
    assert plain.trip is not None
    assert plain.trip.branches == ()


def test_a_kernel_that_cannot_be_followed():
    source = SourceFile("m.py", HEADER + "@triton.jit\ndef kernel(a_ptr):\n    tl.nothing_like_it(a_ptr)\n")
    outcome = KernelOutcome("kernel", analyze_span(source), "declined")
    (kernel,) = limited(FileConversion(source, (outcome,))).kernels
    assert isinstance(kernel.limit, Untold)
    assert kernel.limit.why.startswith("it cannot be followed: ")


def analyze_span(source):
    from tlxify.parse.kernels import find_kernels
    from tlxify.parse.module import parse_module

    return find_kernels(parse_module(source))[0].span


def test_sizes_that_a_kernel_lacks():
    source = SourceFile.read(CORPUS / "gemm/matmul.py")
    (found,) = analyze(source)
    outcome = KernelOutcome(found.kernel.name, found.kernel.span, "converted", contract=found.contract)
    (kernel,) = limited(FileConversion(source, (outcome,)), [{"Q": 3}]).kernels
    assert kernel.limit == Untold("matmul_kernel has no size Q; it has M, N, K, ACTIVATION")


def test_a_fault_of_ours_ends_no_analysis(monkeypatch):
    def broken(*_: object) -> None:
        raise AttributeError("no such thing")

    monkeypatch.setattr("tlxify.limits.launch.limit_of", broken)
    assert gemm() == Untold("a fault of tlxify, AttributeError: no such thing")
