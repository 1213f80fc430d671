# Each head's columns begin where the launch says, which need not be on 16 bytes.

import triton
import triton.language as tl


@triton.jit
def inside_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, step, lda, ldb, ldc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    a_ptr += head * step
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0
        )
        acc = tl.dot(a, b, acc)
    out = c_ptr + head * M * ldc + rows[:, None] * ldc + cols[None, :]
    tl.store(out, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def inside(a, b, c, step):
    heads, m, n = c.shape
    k = b.shape[0]
    inside_kernel[(triton.cdiv(m, 64), heads)](
        a, b, c, m, n, k, step, a.stride(0), b.stride(0), c.stride(1), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32
    )
