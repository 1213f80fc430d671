"""Triton's own functions compute what numpy says, plain and lifted."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tlx


@triton.jit
def _times(a, b):
    return a * b


@triton.jit
def shapes(x, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(x + at)
    square = tl.reshape(v, (SIZE // 4, 4))
    evens, odds = tl.split(tl.join(v, v + 1))
    tl.store(out + at, tl.flip(v, 0))
    tl.store(out + SIZE + at, evens - odds)
    tl.store(out + 2 * SIZE + at, tl.ravel(tl.permute(square, (1, 0))))
    tl.store(out + 3 * SIZE + at, tl.gather(v, SIZE - 1 - at, 0))
    tl.store(out + 4 * SIZE + at, tl.associative_scan(v, 0, _times, reverse=True))
    tl.store(out + 5 * SIZE + at, tl.cumprod(v, 0))
    tl.store(out + 6 * SIZE + at, tl.sort(v, descending=True))
    tl.store(out + 7 * SIZE + at, tl.sum(square, 1, keep_dims=True).broadcast_to((SIZE // 4, 4)).reshape(SIZE))


@triton.jit
def functions(x, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(x + at)
    tl.store(out + at, tl.where(v > 0, v, 0.0))
    tl.store(out + SIZE + at, tl.clamp(v, -0.5, 0.5))
    tl.store(out + 2 * SIZE + at, tl.fma(v, v, v))
    tl.store(out + 3 * SIZE + at, tl.rsqrt(v * v + 1))
    tl.store(out + 4 * SIZE + at, tl.floor(v))
    tl.store(out + 5 * SIZE + at, tl.sigmoid(v))
    tl.store(out + 6 * SIZE + at, tl.div_rn(v, 3.0))
    tl.store(out + 7 * SIZE + at, tl.exp2(tl.abs(v)))


def expected(kernel, x):
    if kernel is shapes:
        square = x.reshape(4, 4)
        sums = np.repeat(square.sum(1), 4)
        turned = square.T.ravel()
        back = x[::-1]
        return [back, -np.ones(16), turned, back, np.cumprod(back)[::-1], np.cumprod(x), np.sort(x)[::-1], sums]
    return [
        np.maximum(x, 0), x.clip(-0.5, 0.5), x * x + x, 1 / np.sqrt(x * x + 1), np.floor(x), 1 / (1 + np.exp(-x)),
        x / 3, np.exp2(np.abs(x)),
    ]  # fmt: skip


@pytest.mark.parametrize("lift", [False, True])
@pytest.mark.parametrize("kernel", [shapes, functions], ids=["shapes", "functions"])
def test_float_functions(kernel, lift):
    x = np.random.default_rng(0).standard_normal(16).astype(np.float32)
    out = tlx.sim.tensor(np.zeros((8, 16), np.float32))
    tlx.sim.run(kernel, (1,), (x, out), {"SIZE": 16}, lift=lift).raise_for_findings()
    result = out.lifted if lift else out.numpy()
    for row, wanted in zip(result, expected(kernel, x.astype(np.float64)), strict=True):
        np.testing.assert_allclose(row, wanted, rtol=1e-6, atol=1e-6)


@triton.jit
def integers(x, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(x + at)
    tl.store(out + at, tl.histogram(v, SIZE))
    tl.store(out + SIZE, tl.xor_sum(v, 0))
    tl.store(out + SIZE + 1, tl.umulhi(tl.max(v, 0) * 100000000, 2000000000))
    tl.store(out + SIZE + 2, tl.atomic_cas(x, 2, 77))
    tl.store(out + SIZE + 3, tl.atomic_xchg(x + 1, 5))
    tl.atomic_max(x + 2, 1000)
    tl.atomic_and(x + 3, 1)
    i, j = tl.swizzle2d(3, 1, 4, 4, 2)
    tl.store(out + SIZE + 4, 10 * i + j)
    six = tl.load(x + 6)
    tl.store(out + SIZE + 5, (six >> 1) + (six << 1) + tl.cdiv(six, 4))
    tl.store(out + SIZE + 6, -six + ~six)
    tl.store(out + SIZE + 7, six / 4)


def test_integer_functions_and_atomics():
    x = np.array([2, 3, 1, 7, 4, 5, 6, 15, 0, 1, 2, 3, 4, 5, 6, 7], np.int32)
    before = x.copy()
    out = np.zeros(24, np.int32)
    tlx.sim.run(integers, (1,), (x, out), {"SIZE": 16}).raise_for_findings()
    assert out[:16].tolist() == np.bincount(before, minlength=16).tolist()
    high = 15 * 10**8 * 2 * 10**9 >> 32
    assert out[16:].tolist() == [np.bitwise_xor.reduce(before), high, 2, 3, 32, 3 + 12 + 2, -6 - 7, 1]
    assert x.tolist() == [77, 5, 1000, 1, *before[4:]]
