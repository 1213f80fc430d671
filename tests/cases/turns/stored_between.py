# What is stored stands in front of the last dot: nothing could run beside it.
# flags: --schedule pingpong

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))
    acc = acc * 2.0
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def launch(a, b, c):
    (M, K), N = a.shape, b.shape[1]
    kernel[(triton.cdiv(M, 128), triton.cdiv(N, 64))](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=128, BLOCK_N=64, BLOCK_K=32, num_warps=8)
# declined: TLX318 at 17
