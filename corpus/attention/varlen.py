"""Attention over packed sequences: `cu_seqlens` says where each begins, and programs past the end of theirs leave."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
    ],
    key=["HEAD_DIM"],
)
@triton.jit
def varlen_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, cu_seqlens_ptr, scale_log2,
    stride_qt, stride_qh, stride_kt, stride_kh, stride_vt, stride_vh, stride_ot, stride_oh,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    seq = tl.program_id(2)
    begin = tl.load(cu_seqlens_ptr + seq)
    length = tl.load(cu_seqlens_ptr + seq + 1) - begin
    if start_m >= length:
        return

    rows = start_m + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    q = tl.load(
        q_ptr + (begin + rows[:, None]) * stride_qt + head * stride_qh + dims[None, :],
        mask=rows[:, None] < length, other=0.0,
    )  # fmt: skip
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start_n in range(0, length, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(
            k_ptr + (begin + cols[None, :]) * stride_kt + head * stride_kh + dims[:, None],
            mask=cols[None, :] < length, other=0.0,
        )  # fmt: skip
        qk = tl.dot(q, k) * scale_log2
        qk = tl.where(cols[None, :] < length, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(
            v_ptr + (begin + cols[:, None]) * stride_vt + head * stride_vh + dims[None, :],
            mask=cols[:, None] < length, other=0.0,
        )  # fmt: skip
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    out = acc / l_i[:, None]
    tl.store(
        o_ptr + (begin + rows[:, None]) * stride_ot + head * stride_oh + dims[None, :],
        out.to(o_ptr.dtype.element_ty), mask=rows[:, None] < length,
    )  # fmt: skip


def varlen_attention(q, k, v, cu_seqlens, max_len, scale):
    """q, k, v: (tokens, heads, head_dim); cu_seqlens: (sequences + 1,) int32."""
    o = torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(max_len, meta["BLOCK_M"]), q.shape[1], cu_seqlens.numel() - 1)  # noqa: E731
    varlen_kernel[grid](
        q, k, v, o, cu_seqlens, scale * 1.4426950408889634,
        *q.stride()[:2], *k.stride()[:2], *v.stride()[:2], *o.stride()[:2], HEAD_DIM=q.shape[2],
    )  # fmt: skip
    return o
