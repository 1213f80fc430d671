"""Element types that a source cannot take are not launched: floats under bit operations, 16 bits under `tl.exp`."""

from __future__ import annotations

import pytest

from tlxify import analyze
from tlxify.source import SourceFile

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def kernel(
    x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, ldx, ldw, ldy,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    columns = n % N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + m[:, None] * ldx + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * ldw + {columns}[None, :], mask={mask}, other=0)
        {taken}
        acc = tl.dot(x, w.to(x.dtype), acc)
    {scaled}
    tl.store(y_ptr + m[:, None] * ldy + n[None, :], acc.to(tl.float16), mask={stored})
"""
MASKED = {
    "columns": "n",
    "mask": "(k[:, None] < K) & (n[None, :] < N)",
    "stored": "(m[:, None] < M) & (n[None, :] < N)",
}
#: What wraps around reaches results that are kept, for all that is known here.
WRAPPED = {"columns": "columns", "mask": "k[:, None] < K", "stored": "m[:, None] < M"}


def contract(taken="w = w - 8", scaled="acc = acc * 2", columns=MASKED):
    text = KERNEL.format(taken=taken, scaled=scaled, **columns)
    (analysis,) = analyze(SourceFile("kernel.py", text))
    return analysis.contract


def dtypes(name, **texts):
    return next(spec.dtypes for spec in contract(**texts).tensors if spec.name == name)


@pytest.mark.parametrize(
    "taken", ["w = w & 15", "w = (w << 4) >> 4", "w = w.__rshift__(4)", "half = w\n        w = half ^ 1"]
)
def test_operations_on_bits_take_integers(taken):
    assert dtypes("w_ptr", taken=taken) == ("i8",)


def test_other_operands_stay_what_dots_multiply():
    assert "fp16" in dtypes("w_ptr")
    assert "fp16" in dtypes("w_ptr", taken="w = w.to(tl.int8) & 15")


SCALE = "s = tl.load(s_ptr + n, mask=n < N, other=0.0)\n    "


@pytest.mark.parametrize(
    "scaled",
    [
        SCALE + "acc = acc * tl.exp(s)[None, :]",
        SCALE + "acc = acc * tl.exp(s - 1.0)[None, :]",
        SCALE + "t = -s\n    acc = acc * tl.math.exp2(t)[None, :]",
        "acc = acc * tl.exp(tl.load(s_ptr + n, mask=n < N, other=0.0))[None, :]",
    ],
)
def test_mathematics_takes_32_bits(scaled):
    assert dtypes("s_ptr", scaled=scaled) == ("fp32",)


@pytest.mark.parametrize(
    "scaled", [SCALE + "acc = acc * s[None, :]", SCALE + "acc = acc * tl.exp(s.to(tl.float32))[None, :]"]
)
def test_what_is_cast_or_not_passed_may_be_anything(scaled):
    assert "fp16" in dtypes("s_ptr", scaled=scaled) or dtypes("s_ptr", scaled=scaled) == dtypes(
        "s_ptr", scaled=SCALE + "acc = acc + s[None, :]"
    )


def test_sizes_at_which_a_computed_operand_wraps_are_whole_tiles():
    assert ("N", "BLOCK_N") in contract(columns=WRAPPED).whole
    assert contract().whole == ()


@pytest.mark.parametrize(("taken", "found"), [("pass", True), ("w = w * 2", False), ("x = x * 2", True)])
def test_what_is_cast_to_the_other_operand_s_type_and_an_integer_elsewhere_is_one(taken, found):
    assert (dtypes("w_ptr", taken=taken) == ("i8",)) == found
    assert "i8" not in dtypes("x_ptr", taken=taken)
