"""Retention in its parallel form: attention without a softmax, whose scores fade by a power of the distance."""

import torch
import triton
import triton.language as tl


@triton.jit
def retention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, decay_ptr, T, stride_h, stride_t, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    m0 = tl.program_id(0) * BLOCK_M
    h = tl.program_id(1)
    log_decay = tl.load(decay_ptr + h)
    m = m0 + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + h * stride_h + m[:, None] * stride_t + d[None, :], mask=m[:, None] < T, other=0.0)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for n0 in range(0, m0 + BLOCK_M, BLOCK_N):
        n = n0 + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + h * stride_h + n[:, None] * stride_t + d[None, :], mask=n[:, None] < T, other=0.0)
        v = tl.load(v_ptr + h * stride_h + n[:, None] * stride_t + d[None, :], mask=n[:, None] < T, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        gap = m[:, None] - n[None, :]
        s = tl.where(gap >= 0, s * tl.exp2(gap.to(tl.float32) * log_decay), 0.0)
        acc += tl.dot(s.to(v.dtype), v)
    tl.store(o_ptr + h * stride_h + m[:, None] * stride_t + d[None, :], acc.to(o_ptr.dtype.element_ty), mask=m[:, None] < T)


def retention(q, k, v, log_decay, scale):
    """q, k, v: (H, T, D) of equal strides; log_decay: (H,) fp32, base 2 and negative."""
    H, T, D = q.shape
    o = torch.empty_like(v)
    retention_kernel[(triton.cdiv(T, 64), H)](
        q, k, v, o, log_decay, T, q.stride(0), q.stride(1), scale,
        BLOCK_M=64, BLOCK_N=64, D=D, num_warps=4, num_stages=3,
    )  # fmt: skip
    return o
