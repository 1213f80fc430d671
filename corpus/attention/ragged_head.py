"""Attention of heads that are no power of two long: one tile covers a head, and is masked where it ends."""

import torch
import triton
import triton.language as tl


@triton.jit
def ragged_head_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, length, head_dim,
    stride_qh, stride_qm, stride_kh, stride_kn, stride_vh, stride_vn, stride_oh, stride_om,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    head = tl.program_id(1)
    d = tl.arange(0, BLOCK_D)
    n = tl.arange(0, BLOCK_N)
    q_places = q_ptr + head * stride_qh + m[:, None] * stride_qm + d[None, :]
    q = tl.load(q_places, mask=(m[:, None] < length) & (d[None, :] < head_dim), other=0.0)
    peak = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    norm = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start in range(0, length, BLOCK_N):
        keys = start + n
        k_places = k_ptr + head * stride_kh + keys[:, None] * stride_kn + d[None, :]
        k = tl.load(k_places, mask=(keys[:, None] < length) & (d[None, :] < head_dim), other=0.0)
        s = tl.dot(q, tl.trans(k)) * (scale * 1.44269504)
        s = tl.where(keys[None, :] < length, s, -1.0e30)
        higher = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        fade = tl.exp2(peak - higher)
        norm = norm * fade + tl.sum(p, 1)
        v_places = v_ptr + head * stride_vh + keys[:, None] * stride_vn + d[None, :]
        v = tl.load(v_places, mask=(keys[:, None] < length) & (d[None, :] < head_dim), other=0.0)
        acc = acc * fade[:, None] + tl.dot(p.to(v.dtype), v)
        peak = higher
    o_places = o_ptr + head * stride_oh + m[:, None] * stride_om + d[None, :]
    out = (acc / norm[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_places, out, mask=(m[:, None] < length) & (d[None, :] < head_dim))


def ragged_head_attention(q, k, v):
    """q, k, v: (heads, length, head_dim), each head's rows of one stride; head_dim up to 128."""
    heads, length, head_dim = q.shape
    o = torch.empty_like(q)
    ragged_head_kernel[(triton.cdiv(length, 128), heads)](
        q, k, v, o, head_dim**-0.5, length, head_dim,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1), v.stride(0), v.stride(1), o.stride(0), o.stride(1),
        BLOCK_M=128, BLOCK_N=64, BLOCK_D=128, num_warps=8, num_stages=3,
    )  # fmt: skip
    return o
