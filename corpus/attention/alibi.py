"""Causal attention with ALiBi: a slope per head, loaded once, bends the scores by the distance of key and query."""

import torch
import triton
import triton.language as tl


@triton.jit
def alibi_kernel(
    Q, K, V, O, Slopes, sm_scale,
    stride_b, stride_h, stride_n,
    H, N,
    BLOCK: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    bh = tl.program_id(1)
    base = (bh // H) * stride_b + (bh % H) * stride_h
    slope = tl.load(Slopes + bh % H)
    offs_q = pid * BLOCK + tl.arange(0, BLOCK)
    offs_d = tl.arange(0, HEAD)
    q = tl.load(Q + base + offs_q[:, None] * stride_n + offs_d[None, :], mask=offs_q[:, None] < N, other=0.0)
    peak = tl.full((BLOCK,), float("-inf"), tl.float32)
    norm = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, HEAD), tl.float32)
    # Nothing behind the diagonal is visible.
    for start in range(0, (pid + 1) * BLOCK, BLOCK):
        offs_k = start + tl.arange(0, BLOCK)
        k = tl.load(K + base + offs_k[:, None] * stride_n + offs_d[None, :], mask=offs_k[:, None] < N, other=0.0)
        v = tl.load(V + base + offs_k[:, None] * stride_n + offs_d[None, :], mask=offs_k[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k)) * sm_scale
        distance = (offs_q[:, None] - offs_k[None, :]).to(tl.float32)
        s = tl.where(offs_q[:, None] >= offs_k[None, :], s - slope * distance, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp(s - new_peak[:, None])
        fade = tl.exp(peak - new_peak)
        norm = norm * fade + tl.sum(p, 1)
        acc *= fade[:, None]
        acc += tl.dot(p.to(v.dtype), v)
        peak = new_peak
    acc /= norm[:, None]
    tl.store(O + base + offs_q[:, None] * stride_n + offs_d[None, :], acc.to(O.dtype.element_ty), mask=offs_q[:, None] < N)


def alibi_attention(q, k, v, slopes):
    """q, k, v: (B, H, N, D) of equal strides; slopes: (H,) fp32."""
    B, H, N, D = q.shape
    o = torch.empty_like(q)
    alibi_kernel[(triton.cdiv(N, 128), B * H)](
        q, k, v, o, slopes, D**-0.5, q.stride(0), q.stride(1), q.stride(2), H, N,
        BLOCK=128, HEAD=D, num_warps=8, num_stages=2,
    )  # fmt: skip
    return o
