# Programs take tiles one after the other in a `while` loop; its condition is the same for all threads.

import triton
import triton.language as tl


@triton.jit
def walking_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * across
    tile = tl.program_id(0)
    while tile < tiles:
        rows = tile // across * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tile % across * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in tl.range(0, K, BLOCK_K, num_stages=3):
            depth = k + tl.arange(0, BLOCK_K)
            a = tl.load(
                a_ptr + rows[:, None] * sa + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0
            )
            b = tl.load(
                b_ptr + depth[:, None] * sb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0
            )
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + rows[:, None] * sc + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))
        tile += tl.num_programs(0)


def walk(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    walking_kernel[(132,)](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
