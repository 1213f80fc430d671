"""Attention whose scores are capped by a tanh, as Gemma 2 has it, through descriptors made in the kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def capped(x, cap):
    """cap · tanh(x / cap), with tanh by the sigmoid."""
    return cap * (2.0 * tl.sigmoid(2.0 * x / cap) - 1.0)


@triton.jit
def softcap_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, cap, heads, T,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    # Batches and heads are folded into the rows: every head begins at a multiple of T.
    total = heads * T
    q_desc = tl.make_tensor_descriptor(q_ptr, shape=[total, D], strides=[D, 1], block_shape=[BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, shape=[total, D], strides=[D, 1], block_shape=[BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, shape=[total, D], strides=[D, 1], block_shape=[BLOCK_N, D])
    head = tl.program_id(1)
    first = tl.program_id(0) * BLOCK_M
    begin = head * T
    q = q_desc.load([begin + first, 0])
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, T, BLOCK_N):
        k = k_desc.load([begin + start, 0])
        s = capped(tl.dot(q, k.T) * scale, cap)
        s = tl.where((start + tl.arange(0, BLOCK_N))[None, :] < T, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = v_desc.load([begin + start, 0])
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    rows = first + tl.arange(0, BLOCK_M)
    out = o_ptr + (begin + rows)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out, (acc / l_i[:, None]).to(o_ptr.dtype.element_ty), mask=rows[:, None] < T)


def softcap_attention(q, k, v, scale, cap):
    """q, k, v: (heads, T, D), contiguous."""
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=q.device))
    heads, T, D = q.shape
    o = torch.empty_like(q)
    softcap_kernel[(triton.cdiv(T, 128), heads)](
        q, k, v, o, scale, cap, heads, T, BLOCK_M=128, BLOCK_N=64, D=D, num_warps=8, num_stages=3
    )
    return o
