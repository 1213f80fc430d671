# expect: TLX501
"""int4 weights, eight to an int32 along K: unpacked by shifts, with a zero point and a scale per group of K."""

import torch
import triton
import triton.language as tl


@triton.jit
def int4_kernel(
    x_ptr, qw_ptr, scales_ptr, zeros_ptr, y_ptr, M, N, K,
    stride_xm, stride_qk, stride_sg, stride_ym, group_size,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    shift = (offs_k % 8) * 4
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + offs_m[:, None] * stride_xm + (k + offs_k)[None, :], mask=offs_m[:, None] < M, other=0.0)
        packed = tl.load(qw_ptr + ((k + offs_k) // 8)[:, None] * stride_qk + offs_n[None, :], mask=offs_n[None, :] < N, other=0)
        g = k // group_size
        scale = tl.load(scales_ptr + g * stride_sg + offs_n, mask=offs_n < N, other=0.0)
        zero = tl.load(zeros_ptr + g * stride_sg + offs_n, mask=offs_n < N, other=0.0)
        w = ((packed >> shift[:, None]) & 0xF).to(tl.float32)
        w = (w - zero[None, :]) * scale[None, :]
        acc += tl.dot(x, w.to(x.dtype))
    tl.store(y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :], acc.to(y_ptr.dtype.element_ty),
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))  # fmt: skip


def int4_linear(x, qweight, scales, zeros, group_size=128):
    """x: (M, K) fp16, qweight: (K / 8, N) int32, scales and zeros: (K / group_size, N) fp16."""
    (M, K), N = x.shape, qweight.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    int4_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 64))](
        x, qweight, scales, zeros, y, M, N, K, x.stride(0), qweight.stride(0), scales.stride(0), y.stride(0), group_size,
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_warps=4, num_stages=3,
    )  # fmt: skip
    return y
