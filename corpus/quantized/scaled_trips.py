"""A product scaled by one number a trip: groups of K share a scale, which is loaded in the loop."""

import torch
import triton
import triton.language as tl


@triton.jit
def group_scale_kernel(
    a_ptr, b_ptr, s_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        at = k * BLOCK_K + rk
        a = tl.load(a_ptr + rm[:, None] * stride_am + at[None, :], mask=(rm[:, None] < M) & (at[None, :] < K), other=0.0)
        b = tl.load(b_ptr + at[:, None] * stride_bk + rn[None, :], mask=(at[:, None] < K) & (rn[None, :] < N), other=0.0)
        scale = tl.load(s_ptr + k)
        acc += tl.dot(a, b) * scale
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=(rm[:, None] < M) & (rn[None, :] < N))  # fmt: skip


def group_scaled_matmul(a, b, scales):
    """a: (M, K), b: (K, N), scales: (K / 64,) fp32."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    group_scale_kernel[(triton.cdiv(M, 128), triton.cdiv(N, 64))](
        a, b, scales, c, M, N, K, a.stride(0), b.stride(0), c.stride(0),
        BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, num_warps=4, num_stages=3,
    )  # fmt: skip
    return c
