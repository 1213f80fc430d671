"""Causal attention: a helper walks over keys in two stages, first those that all rows see, then those on the diagonal."""

import torch
import triton
import triton.language as tl


@triton.jit
def _inner(
    acc, l_i, m_i, q, K, V, stride_kn, stride_vn, start_m, qk_scale, offs_m, offs_n, offs_d, N_CTX,
    STAGE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    if STAGE == 1:  # keys before the block of rows
        lo, hi = 0, start_m * BLOCK_M
    else:  # keys beside it
        lo, hi = start_m * BLOCK_M, (start_m + 1) * BLOCK_M
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        keys = start_n + offs_n
        k = tl.load(K + keys[None, :] * stride_kn + offs_d[:, None], mask=keys[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k)
        if STAGE == 2:
            qk = tl.where(offs_m[:, None] >= keys[None, :], qk * qk_scale, -1.0e6)
        else:
            qk = qk * qk_scale
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + keys[:, None] * stride_vn + offs_d[None, :], mask=keys[:, None] < N_CTX, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
    return acc, l_i, m_i


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_stages=3, num_warps=8),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_stages=3, num_warps=4),
    ],
    key=["N_CTX"],
)
@triton.jit
def causal_attention_kernel(
    Q, K, V, Out, sm_scale,
    stride_qz, stride_qh, stride_qm,
    stride_kz, stride_kh, stride_kn,
    stride_vz, stride_vh, stride_vn,
    stride_oz, stride_oh, stride_om,
    H, N_CTX,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    q_base = Q + off_z * stride_qz + off_h * stride_qh
    k_base = K + off_z * stride_kz + off_h * stride_kh
    v_base = V + off_z * stride_vz + off_h * stride_vh

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    q = tl.load(q_base + offs_m[:, None] * stride_qm + offs_d[None, :], mask=offs_m[:, None] < N_CTX, other=0.0)

    acc, l_i, m_i = _inner(
        acc, l_i, m_i, q, k_base, v_base, stride_kn, stride_vn, start_m, qk_scale, offs_m, offs_n, offs_d, N_CTX,
        1, BLOCK_M, BLOCK_N,
    )  # fmt: skip
    acc, l_i, m_i = _inner(
        acc, l_i, m_i, q, k_base, v_base, stride_kn, stride_vn, start_m, qk_scale, offs_m, offs_n, offs_d, N_CTX,
        2, BLOCK_M, BLOCK_N,
    )  # fmt: skip

    acc = acc / l_i[:, None]
    o_ptrs = Out + off_z * stride_oz + off_h * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :]
    tl.store(o_ptrs, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < N_CTX)


def causal_attention(q, k, v, sm_scale=None):
    """q, k, v: (Z, H, N_CTX, HEAD_DIM), the last axis contiguous."""
    Z, H, N_CTX, D = q.shape
    o = torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(N_CTX, meta["BLOCK_M"]), Z * H)  # noqa: E731
    causal_attention_kernel[grid](
        q, k, v, o, sm_scale or D**-0.5,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *o.stride()[:3],
        H, N_CTX, HEAD_DIM=D,
    )  # fmt: skip
    return o
