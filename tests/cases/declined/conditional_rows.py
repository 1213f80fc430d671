# A condition left behind by the loop masks the store: it is that of the last trip.

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    inside = rows < M
    for k in range(0, K, BLOCK_K):
        shifted = rows + k
        inside = shifted < M
        depth = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + (shifted % M)[:, None] * lda + depth[None, :], mask=depth[None, :] < K, other=0.0)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=inside[:, None] & (cols[None, :] < N))
# declined: TLX206 at 19
