# expect: TLX501
"""y = layernorm(x) @ W: statistics of the rows come from an earlier kernel, each tile of x is normalized before its dot."""

import torch
import triton
import triton.language as tl


@triton.jit
def norm_linear_kernel(
    x_ptr, mean_ptr, rstd_ptr, gamma_ptr, beta_ptr, w_ptr, y_ptr, M, N, K, stride_xm, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mean = tl.load(mean_ptr + m, mask=m < M, other=0.0)
    rstd = tl.load(rstd_ptr + m, mask=m < M, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + m[:, None] * stride_xm + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        gamma = tl.load(gamma_ptr + k, mask=k < K, other=0.0)
        beta = tl.load(beta_ptr + k, mask=k < K, other=0.0)
        normed = (x.to(tl.float32) - mean[:, None]) * rstd[:, None] * gamma[None, :] + beta[None, :]
        w = tl.load(w_ptr + k[:, None] * stride_wk + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(normed.to(w.dtype), w)
    tl.store(y_ptr + m[:, None] * stride_ym + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def norm_linear(x, mean, rstd, gamma, beta, w):
    """x: (M, K), mean and rstd: (M,) fp32, gamma and beta: (K,), w: (K, N)."""
    (M, K), N = x.shape, w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    norm_linear_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 128))](
        x, mean, rstd, gamma, beta, w, y, M, N, K, x.stride(0), w.stride(0), y.stride(0),
        BLOCK_M=64, BLOCK_N=128, BLOCK_K=64, num_warps=4, num_stages=3,
    )  # fmt: skip
    return y
