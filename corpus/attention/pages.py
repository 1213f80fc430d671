"""Attention over a paged KV cache whose pages are as long as a tile: one page number for each trip."""

import torch
import triton
import triton.language as tl


@triton.jit
def pages_kernel(
    q_ptr,  # (sequences, heads, rows, D)
    k_cache,  # (pages, heads, PAGE, D)
    v_cache,  # (pages, heads, PAGE, D)
    table_ptr,  # (sequences, pages of each) int32
    o_ptr,  # (sequences, heads, rows, D)
    rows, pages, scale,
    stride_qs, stride_qh, stride_qm, stride_kp, stride_kh, stride_kn, stride_vp, stride_vh, stride_vn,
    stride_table, stride_os, stride_oh, stride_om,
    BLOCK_M: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    head = tl.program_id(1)
    seq = tl.program_id(2)
    slot = tl.arange(0, PAGE)
    d = tl.arange(0, D)
    q_head = q_ptr + seq * stride_qs + head * stride_qh
    q = tl.load(q_head + m[:, None] * stride_qm + d[None, :], mask=m[:, None] < rows, other=0.0)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for i in range(0, pages):
        page = tl.load(table_ptr + seq * stride_table + i)
        k = tl.load(k_cache + page * stride_kp + head * stride_kh + slot[None, :] * stride_kn + d[:, None])
        s = tl.dot(q, k) * scale
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_cache + page * stride_vp + head * stride_vh + slot[:, None] * stride_vn + d[None, :])
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    out = acc / l_i[:, None]
    o_head = o_ptr + seq * stride_os + head * stride_oh
    tl.store(o_head + m[:, None] * stride_om + d[None, :], out.to(o_ptr.dtype.element_ty), mask=m[:, None] < rows)


def attention_over_pages(q, k_cache, v_cache, table, scale):
    """q: (sequences, heads, rows, D); caches: (pages, heads, PAGE, D); table: (sequences, pages of each) int32."""
    o = torch.empty_like(q)
    sequences, heads, rows, D = q.shape
    pages_kernel[(triton.cdiv(rows, 128), heads, sequences)](
        q, k_cache, v_cache, table, o, rows, table.shape[1], scale,
        *q.stride()[:3], *k_cache.stride()[:3], *v_cache.stride()[:3], table.stride(0), *o.stride()[:3],
        BLOCK_M=128, PAGE=k_cache.shape[2], D=D, num_warps=8, num_stages=3,
    )  # fmt: skip
    return o
