"""Grouped-query attention with an additive bias: eight query heads share the keys of one, and a bias tile is loaded per trip."""

import torch
import triton
import triton.language as tl


@triton.jit
def gqa_bias_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, o_ptr,
    sqb, sqh, sqm, skb, skh, skn, svb, svh, svn, sbh, sbm, sob, soh, som,
    heads, group, q_len, kv_len, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    off_m = tl.program_id(0) * BLOCK_M
    b = tl.program_id(1) // heads
    h = tl.program_id(1) % heads
    kv_h = h // group  # the head whose keys this one reads
    m = off_m + tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + b * sqb + h * sqh + m[:, None] * sqm + d[None, :], mask=m[:, None] < q_len, other=0.0)
    mi = tl.full([BLOCK_M], -float("inf"), tl.float32)
    li = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for j in range(0, kv_len, BLOCK_N):
        cols = j + n
        k = tl.load(k_ptr + b * skb + kv_h * skh + cols[:, None] * skn + d[None, :], mask=cols[:, None] < kv_len, other=0.0)
        bias = tl.load(
            bias_ptr + h * sbh + m[:, None] * sbm + cols[None, :],
            mask=(m[:, None] < q_len) & (cols[None, :] < kv_len),
            other=0.0,
        )
        s = tl.dot(q, tl.trans(k)) * scale + bias.to(tl.float32)
        s = tl.where(cols[None, :] < kv_len, s, -float("inf"))
        m_new = tl.maximum(mi, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        corr = tl.exp(mi - m_new)
        li = li * corr + tl.sum(p, axis=1)
        v = tl.load(v_ptr + b * svb + kv_h * svh + cols[:, None] * svn + d[None, :], mask=cols[:, None] < kv_len, other=0.0)
        acc = acc * corr[:, None] + tl.dot(p.to(v_ptr.dtype.element_ty), v)
        mi = m_new
    acc = acc / li[:, None]
    tl.store(
        o_ptr + b * sob + h * soh + m[:, None] * som + d[None, :], acc.to(o_ptr.dtype.element_ty), mask=m[:, None] < q_len
    )


def gqa_with_bias(q, k, v, bias, scale):
    """q: (B, H, M, D), k and v: (B, H / group, N, D), bias: (H, M, N)."""
    B, H, M, D = q.shape
    o = torch.empty_like(q)
    gqa_bias_kernel[(triton.cdiv(M, 64), B * H)](
        q, k, v, bias, o,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *bias.stride()[:2], *o.stride()[:3],
        H, H // k.shape[1], M, k.shape[2], scale,
        BLOCK_M=64, BLOCK_N=64, D=D, num_warps=4, num_stages=3,
    )  # fmt: skip
    return o
