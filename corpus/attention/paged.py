# expect: TLX202
"""Attention over a paged KV cache: a block table says in which page a stretch of keys lies."""

import torch
import triton
import triton.language as tl


@triton.jit
def paged_kernel(
    q_ptr, k_cache, v_cache, table_ptr, lens_ptr, o_ptr, scale,
    stride_qt, stride_qh, stride_page, stride_slot, stride_kh, stride_table, stride_ot, stride_oh,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    seq = tl.program_id(0)
    head = tl.program_id(1)
    kv_len = tl.load(lens_ptr + seq)
    rows = tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + (seq * BLOCK_M + rows[:, None]) * stride_qt + head * stride_qh + d[None, :])
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, kv_len, BLOCK_N):
        pos = start + tl.arange(0, BLOCK_N)
        page = tl.load(table_ptr + seq * stride_table + pos // PAGE, mask=pos < kv_len, other=0)
        where = page * stride_page + (pos % PAGE) * stride_slot + head * stride_kh
        k = tl.load(k_cache + where[None, :] + d[:, None], mask=pos[None, :] < kv_len, other=0.0)
        s = tl.where(pos[None, :] < kv_len, tl.dot(q, k) * scale, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_cache + where[:, None] + d[None, :], mask=pos[:, None] < kv_len, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    out = acc / l_i[:, None]
    tl.store(o_ptr + (seq * BLOCK_M + rows[:, None]) * stride_ot + head * stride_oh + d[None, :], out.to(o_ptr.dtype.element_ty))


def paged_attention(q, k_cache, v_cache, table, lens, scale):
    """q: (sequences · 16, heads, D); caches: (pages, PAGE, heads, D); table: (sequences, pages of each) int32."""
    o = torch.empty_like(q)
    paged_kernel[(lens.numel(), q.shape[1])](
        q, k_cache, v_cache, table, lens, o, scale,
        q.stride(0), q.stride(1), *k_cache.stride()[:3], table.stride(0), o.stride(0), o.stride(1),
        BLOCK_M=16, BLOCK_N=64, PAGE=k_cache.shape[1], D=q.shape[2],
    )  # fmt: skip
    return o
