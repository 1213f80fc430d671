# Weights of 8 bits become 16 before the dot: a role of their own stores them for it.

import triton
import triton.language as tl


@triton.jit
def bytes_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols, mask=(depth[:, None] < K) & (cols < N), other=0)
        a = tl.load(a_ptr + rows[:, None] * lda + depth, mask=(rows[:, None] < M) & (depth < K), other=0.0)
        acc += tl.dot(a, b.to(a.dtype))
    tl.store(c_ptr + rows[:, None] * ldc + cols, acc, mask=(rows[:, None] < M) & (cols < N))


def in_bytes(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    bytes_kernel[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)
