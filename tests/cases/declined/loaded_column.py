# Columns of a group start at a loaded number: along the contiguous axis the TMA starts at whole 16 bytes only.

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, first_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    first = tl.load(first_ptr + tl.program_id(2))
    end = tl.load(first_ptr + tl.program_id(2) + 1)
    start = first + tl.program_id(1) * BLOCK_N
    if start >= end:
        return
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = start + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < end))


def launch(a, b, c, first, groups, longest):
    (M, K), N = a.shape, b.shape[1]
    kernel[(triton.cdiv(M, 128), triton.cdiv(longest, 128), groups)](
        a, b, c, first, M, N, K, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8,
    )
# declined: TLX212 at 20
