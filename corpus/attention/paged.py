"""Attention over a paged KV cache: a block table says in which page each stretch of keys lies, and pages are short."""

import torch
import triton
import triton.language as tl


@triton.jit
def paged_kernel(
    q_ptr,  # (sequences, heads, rows, D)
    k_cache,  # (pages, PAGE, heads, D)
    v_cache,  # (pages, PAGE, heads, D)
    table_ptr,  # (sequences, pages of each) int32
    lens_ptr,  # (sequences,) int32
    o_ptr,  # (sequences, heads, rows, D)
    rows, scale,
    stride_qs, stride_qh, stride_qm, stride_page, stride_slot, stride_kh, stride_table, stride_os, stride_oh, stride_om,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    head = tl.program_id(1)
    seq = tl.program_id(2)
    kv_len = tl.load(lens_ptr + seq)
    d = tl.arange(0, D)
    q_head = q_ptr + seq * stride_qs + head * stride_qh
    q = tl.load(q_head + m[:, None] * stride_qm + d[None, :], mask=m[:, None] < rows, other=0.0)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, kv_len, BLOCK_N):
        pos = start + tl.arange(0, BLOCK_N)
        # Which page each key lies in, and where in the cache that is.
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
    o_head = o_ptr + seq * stride_os + head * stride_oh
    tl.store(o_head + m[:, None] * stride_om + d[None, :], out.to(o_ptr.dtype.element_ty), mask=m[:, None] < rows)


def paged_attention(q, k_cache, v_cache, table, lens, scale):
    """q: (sequences, heads, rows, D); caches: (pages, PAGE, heads, D) alike; table: (sequences, pages of each) int32."""
    o = torch.empty_like(q)
    sequences, heads, rows, D = q.shape
    paged_kernel[(triton.cdiv(rows, 128), heads, sequences)](
        q, k_cache, v_cache, table, lens, o, rows, scale, *q.stride()[:3],
        *k_cache.stride()[:3], table.stride(0), *o.stride()[:3],
        BLOCK_M=128, BLOCK_N=64, PAGE=k_cache.shape[1], D=D, num_warps=8, num_stages=3,
    )  # fmt: skip
    return o
