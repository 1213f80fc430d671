# A `while` loop whose condition is the largest element of what was multiplied: the producer cannot know it.

import triton
import triton.language as tl


@triton.jit
def growing_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, limit, sa, sb, sc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    k = 0
    while tl.max(tl.max(acc, 1), 0) < limit:
        depth = k + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * sa + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + depth[:, None] * sb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0
        )
        acc = tl.dot(a, b, acc)
        k += BLOCK_K
    tl.store(c_ptr + rows[:, None] * sc + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def grow(a, b, c, limit):
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    growing_kernel[grid](
        a, b, c, m, n, k, limit, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32
    )
