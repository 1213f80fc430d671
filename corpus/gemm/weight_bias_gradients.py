"""dW = Xᵀ dY and db = Σ dY in one pass: the second operand's tiles are multiplied where they lie, and added up as well."""

import torch
import triton
import triton.language as tl


@triton.jit
def weight_bias_gradients_kernel(
    x_ptr, dy_ptr, dw_ptr, db_ptr, M, N, K, stride_xm, stride_ym, stride_wk,
    BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr, EVEN_M: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_K, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_N,), dtype=tl.float32)
    # One stage: Triton gives a tile of two uses one slot too few, and the source would race (docs/verifying.md).
    for start in tl.range(0, M, BLOCK_M, num_stages=1):
        m = start + tl.arange(0, BLOCK_M)
        if EVEN_M:
            x = tl.load(x_ptr + m[None, :] * stride_xm + k[:, None], mask=k[:, None] < K, other=0.0)
            dy = tl.load(dy_ptr + m[:, None] * stride_ym + n[None, :], mask=n[None, :] < N, other=0.0)
        else:
            x = tl.load(x_ptr + m[None, :] * stride_xm + k[:, None], mask=(m[None, :] < M) & (k[:, None] < K), other=0.0)
            dy = tl.load(dy_ptr + m[:, None] * stride_ym + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N), other=0.0)
        db += tl.sum(dy.to(tl.float32), axis=0)
        dw = tl.dot(x, dy, dw)
    tl.store(dw_ptr + k[:, None] * stride_wk + n[None, :], dw.to(dw_ptr.dtype.element_ty), mask=(k[:, None] < K) & (n[None, :] < N))
    if tl.program_id(0) == 0:
        tl.store(db_ptr + n, db.to(db_ptr.dtype.element_ty), mask=n < N)


def weight_bias_gradients(x, dy):
    """x: (M, K), dy: (M, N). Returns dW (K, N) and db (N,)."""
    (M, K), N = x.shape, dy.shape[1]
    dw = torch.empty((K, N), device=x.device, dtype=x.dtype)
    db = torch.empty((N,), device=x.device, dtype=x.dtype)
    weight_bias_gradients_kernel[(triton.cdiv(K, 128), triton.cdiv(N, 128))](
        x, dy, dw, db, M, N, K, x.stride(0), dy.stride(0), dw.stride(0),
        BLOCK_K=128, BLOCK_N=128, BLOCK_M=64, EVEN_M=M % 64 == 0, num_warps=8, num_stages=3,
    )  # fmt: skip
    return dw, db
