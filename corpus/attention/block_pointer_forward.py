"""Attention forward as tutorials had it: block pointers for Q, K and V, a length that tiles divide, plain stores."""

import torch
import triton
import triton.language as tl


@triton.jit
def block_pointer_attention_kernel(
    Q, K, V, O, sm_scale,
    stride_qh, stride_qm, stride_qd,
    stride_kh, stride_kn, stride_kd,
    stride_vh, stride_vn, stride_vd,
    stride_oh, stride_om, stride_od,
    N_CTX,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    Q_block = tl.make_block_ptr(
        base=Q + head * stride_qh, shape=(N_CTX, HEAD_DIM), strides=(stride_qm, stride_qd),
        offsets=(start_m * BLOCK_M, 0), block_shape=(BLOCK_M, HEAD_DIM), order=(1, 0),
    )  # fmt: skip
    K_block = tl.make_block_ptr(
        base=K + head * stride_kh, shape=(HEAD_DIM, N_CTX), strides=(stride_kd, stride_kn),
        offsets=(0, 0), block_shape=(HEAD_DIM, BLOCK_N), order=(0, 1),
    )  # fmt: skip
    V_block = tl.make_block_ptr(
        base=V + head * stride_vh, shape=(N_CTX, HEAD_DIM), strides=(stride_vn, stride_vd),
        offsets=(0, 0), block_shape=(BLOCK_N, HEAD_DIM), order=(1, 0),
    )  # fmt: skip
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    q = tl.load(Q_block, boundary_check=(0,), padding_option="zero")
    for start_n in range(0, N_CTX, BLOCK_N):
        k = tl.load(K_block, boundary_check=(1,), padding_option="zero")
        qk = tl.dot(q, k) * sm_scale
        qk = tl.where((start_n + offs_n)[None, :] < N_CTX, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V_block, boundary_check=(0,), padding_option="zero")
        acc += tl.dot(p.to(v.dtype), v)
        m_i = m_new
        K_block = tl.advance(K_block, (0, BLOCK_N))
        V_block = tl.advance(V_block, (BLOCK_N, 0))
    acc = acc / l_i[:, None]
    offs_d = tl.arange(0, HEAD_DIM)
    o_ptrs = O + head * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :] * stride_od
    tl.store(o_ptrs, acc.to(O.dtype.element_ty), mask=offs_m[:, None] < N_CTX)


def attention(q, k, v):
    """q, k, v: (heads, N_CTX, HEAD_DIM)."""
    heads, N_CTX, D = q.shape
    o = torch.empty_like(q)
    block_pointer_attention_kernel[(triton.cdiv(N_CTX, 128), heads)](
        q, k, v, o, D**-0.5, *q.stride(), *k.stride(), *v.stride(), *o.stride(), N_CTX,
        HEAD_DIM=D, BLOCK_M=128, BLOCK_N=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return o
