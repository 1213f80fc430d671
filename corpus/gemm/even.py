"""C = A @ B where K is a multiple of the tile: no mask along K, as `EVEN_K` kernels have it once they are specialized."""

import triton
import triton.language as tl


@triton.jit
def even_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid_m = pid // tiles_n
    pid_n = pid % tiles_n
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    # Past the edge the tile wraps around; a promise that neighbours stay neighbours would be a lie there.
    ram = rm % M
    rbn = rn % N
    A = a_ptr + (ram[:, None] * lda + rk[None, :])
    B = b_ptr + (rk[:, None] * ldb + rbn[None, :])
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K // BLOCK_K):
        acc += tl.dot(tl.load(A), tl.load(B))
        A += BLOCK_K
        B += BLOCK_K * ldb
    C = c_ptr + (rm[:, None] * ldc + rn[None, :])
    tl.store(C, acc.to(c_ptr.dtype.element_ty), mask=(rm < M)[:, None] & (rn < N)[None, :])
