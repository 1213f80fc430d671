"""Products on the tensor cores of Hopper."""

from __future__ import annotations

import numpy as np
import triton.language as tl

import tlx

from .case import Case


@tlx.jit
def load_tiles(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, depth = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    left = tl.load(a + rows * K + depth[None, :])
    right = tl.load(b + depth[:, None] * N + columns)
    return left, right, c + rows * N + columns


@tlx.jit
def chained(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left, right, places = load_tiles(a, b, c, M, N, K)
    a_tile, b_tile = tlx.local_alloc((M, K), tl.float16, 1), tlx.local_alloc((K, N), tl.float16, 1)
    b_turned = tlx.local_alloc((N, K), tl.float16, 1)
    tlx.local_store(a_tile[0], left)
    tlx.local_store(b_tile[0], right)
    tlx.local_store(b_turned[0], tl.trans(right))
    tlx.fence("async_shared")
    # Without an accumulator the sum starts from zero.
    acc = tlx.async_dot(a_tile[0], b_tile[0])
    # A from registers; B read the other way round.
    acc = tlx.async_dot(left, tlx.local_trans(b_turned[0]), acc)
    acc = tlx.async_dot(tlx.local_load(a_tile[0]), b_tile[0], acc)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(places, acc)


@tlx.jit
def overlapped(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left, right, places = load_tiles(a, b, c, M, N, K)
    a_tile, b_tile = tlx.local_alloc((M, K), tl.float16, 1), tlx.local_alloc((K, N), tl.float16, 1)
    tlx.local_store(a_tile[0], left)
    tlx.local_store(b_tile[0], right)
    tlx.fence("async_shared")
    older = tlx.async_dot(a_tile[0], b_tile[0])
    newer = tlx.async_dot(a_tile[0], b_tile[0])
    # The older one is done; the newer may still be running.
    older = tlx.async_dot_wait(1, older)
    doubled = older * 2
    newer = tlx.async_dot_wait(0, newer)
    tl.store(places, doubled + newer)


@tlx.jit
def narrow(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left, right, places = load_tiles(a, b, c, M, N, K)
    a_tile, b_tile = tlx.local_alloc((M, K), tl.float16, 1), tlx.local_alloc((K, N), tl.float16, 1)
    tlx.local_store(a_tile[0], left)
    tlx.local_store(b_tile[0], right)
    tlx.fence("async_shared")
    acc = tlx.async_dot(a_tile[0], b_tile[0], out_dtype=tl.float16)
    acc = tlx.async_dot_wait(0, acc)
    tl.static_assert(acc.dtype == tl.float16)
    tl.store(places, acc)


@tlx.jit
def kept(a, b, c, rounds, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left, right, places = load_tiles(a, b, c, M, N, K)
    b_tile = tlx.local_alloc((K, N), tl.float16, 1)
    tlx.local_store(b_tile[0], right)
    tlx.fence("async_shared")
    acc = tl.zeros((M, N), tl.float32)
    p = left.to(tl.float32)
    for k in range(1, rounds):
        # What is left of the round before is rounded where it is multiplied.
        acc = tlx.async_dot(p.to(tl.float16), b_tile[0], acc)
        acc = tlx.async_dot_wait(0, acc)
        p = left.to(tl.float32) * k + 1.0 / 4096
    acc = tlx.async_dot(p.to(tl.float16), b_tile[0], acc)
    acc = tlx.async_dot_wait(0, acc)
    tl.store(places, acc)


def operands(m: int, n: int, k: int, dtype: type) -> tuple[np.ndarray, ...]:
    """Small whole numbers: their products and sums are exact in fp16 as well."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return a, b, np.zeros((m, n), dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def kept_sum(a: np.ndarray, b: np.ndarray, c: np.ndarray, rounds: int) -> np.ndarray:
    steps = [a, *((a.astype(np.float32) * k + np.float32(1 / 4096)).astype(np.float16) for k in range(1, rounds))]
    return sum(product(step, b) for step in steps)


SHAPE = {"M": 64, "N": 64, "K": 64}

CASES = {
    "chained": Case(chained, lambda: operands(64, 64, 64, np.float32), {2: lambda a, b, c: 3 * product(a, b)}, SHAPE),
    "chained, eight warps": Case(
        chained,
        lambda: operands(128, 32, 128, np.float32),
        {2: lambda a, b, c: 3 * product(a, b)},
        {"M": 128, "N": 32, "K": 128},
        warps=8,
    ),
    "overlapped": Case(
        overlapped, lambda: operands(64, 64, 64, np.float32), {2: lambda a, b, c: 3 * product(a, b)}, SHAPE
    ),
    "kept": Case(kept, lambda: (*operands(64, 64, 64, np.float32), 5), {2: kept_sum}, SHAPE, tolerance=1e-5),
    "narrow": Case(narrow, lambda: operands(64, 64, 64, np.float16), {2: lambda a, b, c: product(a, b)}, SHAPE),
}
