# Whether the next product is computed depends on the last one: the producer does not know it.

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for tile in range(0, 2):
        rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        if tl.sum(acc) < 1.0:
            for start in range(0, K, BLOCK_K):
                depth = start + tl.arange(0, BLOCK_K)
                a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
                b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
                acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
# declined: TLX322 at 18
