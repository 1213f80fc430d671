# expect: TLX501
"""fp16 activations, int8 weights: each tile of W becomes fp16 and is scaled before the dot."""

import torch
import triton
import triton.language as tl


@triton.jit
def w8a16_kernel(
    x_ptr, w_ptr, scale_ptr, y_ptr, M, N, K, stride_xm, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    scale = tl.load(scale_ptr + offs_n, mask=offs_n < N, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        kk = k + offs_k
        x = tl.load(x_ptr + offs_m[:, None] * stride_xm + kk[None, :], mask=(offs_m[:, None] < M) & (kk[None, :] < K), other=0.0)
        w = tl.load(w_ptr + kk[:, None] * stride_wk + offs_n[None, :], mask=(kk[:, None] < K) & (offs_n[None, :] < N), other=0)
        acc += tl.dot(x, w.to(x.dtype))
    acc *= scale[None, :]
    tl.store(y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :], acc.to(y_ptr.dtype.element_ty),
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))  # fmt: skip


def w8a16_linear(x, w, scale):
    """x: (M, K) fp16, w: (K, N) int8, scale: (N,) fp32."""
    (M, K), N = x.shape, w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    w8a16_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 128))](
        x, w, scale, y, M, N, K, x.stride(0), w.stride(0), y.stride(0),
        BLOCK_M=64, BLOCK_N=128, BLOCK_K=64, num_warps=4, num_stages=3,
    )  # fmt: skip
    return y
