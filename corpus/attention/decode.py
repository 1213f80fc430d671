"""Split-KV decoding: the 16 query heads of a group are the rows, each program takes a share of the cache."""

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, kv_len, share,
    stride_qb, stride_qh, stride_kb, stride_kt, stride_vb, stride_vt, stride_os, stride_ob, stride_oh,
    GROUP: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0)
    split = tl.program_id(1)
    g = tl.arange(0, GROUP)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + b * stride_qb + g[:, None] * stride_qh + d[None, :])
    first = split * share
    last = tl.minimum(first + share, kv_len)
    m_i = tl.full((GROUP,), float("-inf"), tl.float32)
    l_i = tl.zeros((GROUP,), tl.float32)
    acc = tl.zeros((GROUP, D), tl.float32)
    for t in range(first, last, BLOCK_N):
        n = t + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + b * stride_kb + n[None, :] * stride_kt + d[:, None], mask=n[None, :] < kv_len, other=0.0)
        s = tl.where(n[None, :] < last, tl.dot(q, k) * scale, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        a = tl.exp2(m_i - m_new)
        v = tl.load(v_ptr + b * stride_vb + n[:, None] * stride_vt + d[None, :], mask=n[:, None] < kv_len, other=0.0)
        acc = acc * a[:, None] + tl.dot(p.to(v.dtype), v)
        l_i = l_i * a + tl.sum(p, 1)
        m_i = m_new
    out = o_ptr + split * stride_os + b * stride_ob + g[:, None] * stride_oh + d[None, :]
    tl.store(out, acc / l_i[:, None])
    tl.store(lse_ptr + (split * tl.num_programs(0) + b) * GROUP + g, m_i + tl.log2(l_i))


def decode(q, k, v, scale, splits=8):
    """q: (B, 16, D), k and v: (B, T, D); returns partial outputs (splits, B, 16, D) and their log-sum-exp, fp32."""
    B, G, D = q.shape
    o = torch.empty((splits, B, G, D), device=q.device, dtype=torch.float32)
    lse = torch.empty((splits, B, G), device=q.device, dtype=torch.float32)
    share = triton.cdiv(triton.cdiv(k.shape[1], splits), 64) * 64
    decode_kernel[(B, splits)](
        q, k, v, o, lse, scale, k.shape[1], share, *q.stride()[:2], *k.stride()[:2], *v.stride()[:2], *o.stride()[:3],
        GROUP=16, BLOCK_N=64, D=D, num_warps=4, num_stages=3,
    )  # fmt: skip
    return o, lse
