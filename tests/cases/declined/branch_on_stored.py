# The loop runs under a condition read from memory that the kernel writes.

import triton
import triton.language as tl


@triton.jit
def kernel(done_ptr, a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if tl.load(done_ptr + tl.program_id(0)) == 0:
        for start in range(0, K, BLOCK_K):
            depth = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
            b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
            acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
    tl.store(done_ptr + tl.program_id(0), 1)
# declined: TLX321 at 12
