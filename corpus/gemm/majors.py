"""C = op(A) @ op(B) in batches, with A, B and C row- or column-major each, as strides that flags choose."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=3),
        triton.Config({"BM": 64, "BN": 128, "BK": 32}, num_warps=4, num_stages=4),
    ],
    key=["M", "N", "K", "TRANS_A", "TRANS_B"],
)
@triton.heuristics({"TRANS_C": lambda args: args["stride_cm"] == 1})
@triton.jit
def majors_kernel(
    A, B, C,
    M, N, K, batch_a, batch_b, batch_c, lda, ldb, stride_cm, stride_cn,
    TRANS_A: tl.constexpr, TRANS_B: tl.constexpr, TRANS_C: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    z = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    stride_am: tl.constexpr = 1
    stride_ak = lda
    if not TRANS_A:
        a_ptrs = A + z * batch_a + (m[:, None] * lda + k[None, :])
        a_step = BK
    else:
        a_ptrs = A + z * batch_a + (m[:, None] * stride_am + k[None, :] * stride_ak)
        a_step = BK * stride_ak
    stride_bk, stride_bn = (1, ldb) if TRANS_B else (ldb, 1)
    b_ptrs = B + z * batch_b + (k[:, None] * stride_bk + n[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < K - k0), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - k0) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += a_step
        b_ptrs += BK * stride_bk
    c_ptrs = C + z * batch_c + m[:, None] * (1 if TRANS_C else stride_cm)
    c_ptrs += n[None, :] * (stride_cn if TRANS_C else 1)
    tl.store(c_ptrs, acc.to(C.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def batched_gemm(a, b, trans_a=False, trans_b=False, trans_c=False):
    """op(a) @ op(b), matrix by matrix, for tensors with contiguous rows; the result has contiguous columns if asked."""
    batch = a.shape[0]
    K, M = a.shape[1:] if trans_a else a.shape[:0:-1]
    N = b.shape[1] if trans_b else b.shape[2]
    c = torch.empty((batch, N, M) if trans_c else (batch, M, N), device=a.device, dtype=a.dtype)
    c = c.mT if trans_c else c
    grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]), batch)  # noqa: E731
    majors_kernel[grid](
        a, b, c, M, N, K,
        a.stride(0), b.stride(0), c.stride(0), a.stride(1), b.stride(1), c.stride(1), c.stride(2),
        TRANS_A=trans_a, TRANS_B=trans_b,
    )  # fmt: skip
    return c
