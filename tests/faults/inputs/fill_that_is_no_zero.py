"""An operand that reads ones past its end, under a condition beside its bounds: no descriptor does either."""

import triton
import triton.language as tl


@triton.jit
def filled_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, first, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + m[:, None] * lda + k[None, :],
            mask=(m[:, None] < M) & (k[None, :] < K) & (k[None, :] >= first),
            other=1.0,
        )
        b = tl.load(b_ptr + k[:, None] * ldb + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(
        c_ptr + m[:, None] * ldc + n[None, :], acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N)
    )
