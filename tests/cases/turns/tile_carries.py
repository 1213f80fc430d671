# A value goes from one tile to the next.
# flags: --schedule pingpong

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    best = 0.0
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        rows = tile // tl.cdiv(N, BLOCK_N) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tile % tl.cdiv(N, BLOCK_N) * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            depth = k + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
            b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        best = tl.maximum(best, tl.max(tl.max(acc, 1), 0))
        acc = acc * best
        tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b, c):
    (M, K), N = a.shape, b.shape[1]
    kernel[(4,)](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=128, BLOCK_N=64, BLOCK_K=32, num_warps=8)
# declined: TLX318 at 20
