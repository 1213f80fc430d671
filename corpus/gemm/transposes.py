"""C = op(A) @ op(B) as BLAS has it: flags say which operand is stored transposed, and the tile is turned after the load."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=3),
        triton.Config({"BM": 64, "BN": 128, "BK": 64}, num_warps=4, num_stages=4),
    ],
    key=["M", "N", "K", "TRANS_A", "TRANS_B"],
)
@triton.jit
def gemm_kernel(
    A, B, C, alpha,
    M, N, K, lda, ldb, ldc,
    TRANS_A: tl.constexpr, TRANS_B: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m0 = tl.program_id(0) * BM
    n0 = tl.program_id(1) * BN
    m = m0 + tl.arange(0, BM)
    n = n0 + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in tl.range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        if TRANS_A:
            at = tl.load(A + k[:, None] * lda + m[None, :], mask=(k[:, None] < K) & (m[None, :] < M), other=0.0)
            a = tl.trans(at)
        else:
            a = tl.load(A + m[:, None] * lda + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        if TRANS_B:
            bt = tl.load(B + n[:, None] * ldb + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
            b = bt.T
        else:
            b = tl.load(B + k[:, None] * ldb + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    acc *= alpha
    tl.store(C + m[:, None] * ldc + n[None, :], acc.to(C.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def gemm(a, b, alpha=1.0, trans_a=False, trans_b=False):
    """alpha · op(a) @ op(b) for tensors with contiguous rows."""
    K, M = a.shape if trans_a else a.shape[::-1]
    N = b.shape[0] if trans_b else b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))  # noqa: E731
    gemm_kernel[grid](
        a, b, c, alpha, M, N, K, a.stride(0), b.stride(0), c.stride(0), TRANS_A=trans_a, TRANS_B=trans_b
    )
    return c
