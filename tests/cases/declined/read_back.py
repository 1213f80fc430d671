# The tile's place is stored and loaded again: the producer would be ahead of the store.

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, order_ptr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    tl.store(order_ptr + tl.program_id(1), tl.program_id(1))
    pid_m = tl.program_id(0)
    pid_n = tl.load(order_ptr + tl.program_id(1))
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
# declined: TLX321 at 11
