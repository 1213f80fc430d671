"""Sliding-window attention: each block of rows sees the keys of a window behind it, so its loop begins in the middle."""

import torch
import triton
import triton.language as tl


@triton.jit
def window_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, length, window,
    stride_h, stride_t,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    q_ptr += head * stride_h
    k_ptr += head * stride_h
    v_ptr += head * stride_h
    o_ptr += head * stride_h
    rows = first + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * stride_t + d[None, :], mask=rows[:, None] < length, other=0.0)
    q = (q * scale).to(q_ptr.dtype.element_ty)

    m_i = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    low = tl.maximum(first - window + 1, 0) // BLOCK_N * BLOCK_N
    high = tl.minimum(first + BLOCK_M, length)
    for start in range(low, high, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + cols[:, None] * stride_t + d[None, :], mask=cols[:, None] < length, other=0.0)
        qk = tl.dot(q, k.T)
        seen = (rows[:, None] >= cols[None, :]) & (rows[:, None] - cols[None, :] < window)
        qk = tl.where(seen, qk, -1.0e30)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.where(seen, tl.exp(qk - m_new[:, None]), 0.0)
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + cols[:, None] * stride_t + d[None, :], mask=cols[:, None] < length, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new
    tl.store(o_ptr + rows[:, None] * stride_t + d[None, :], (acc / l_i[:, None]).to(o_ptr.dtype.element_ty), mask=rows[:, None] < length)


def window_attention(q, k, v, window):
    """q, k, v: (heads, length, D) of equal strides."""
    heads, length, D = q.shape
    o = torch.empty_like(q)
    window_kernel[(triton.cdiv(length, 64), heads)](
        q, k, v, o, D**-0.5, length, window, q.stride(0), q.stride(1),
        BLOCK_M=64, BLOCK_N=64, D=D, num_warps=4, num_stages=3,
    )  # fmt: skip
    return o
