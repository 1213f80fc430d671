# launch: {"grid": [2], "args": {"Q": 1024, "K": 1024, "V": 1024, "Out": 1024, "stride": 16, "scale": 0.25, "N_CTX": 64}, "constexprs": {"HEAD": 16, "BLOCK_M": 32, "BLOCK_N": 16, "STAGE": 3}}

import triton
import triton.language as tl


@triton.jit
def _attn_fwd_inner(acc, l_i, m_i, q, K, V, start_m, stride, scale,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, STAGE: tl.constexpr,
                    N_CTX, offs_m, offs_n):
    """Goes once over the keys of one stage.

    Stage 1 is below the diagonal, stage 2 on it, stage 3 all of it.
    """
    # range of values handled by this stage
    if STAGE == 1:
        lo, hi = 0, start_m * BLOCK_M
    elif STAGE == 2:
        lo, hi = start_m * BLOCK_M, (start_m + 1) * BLOCK_M
    else:
        lo, hi = 0, N_CTX
    offs_d = tl.arange(0, HEAD)
    for start_n in range(lo, hi, BLOCK_N):
        # -- compute qk ----
        k = tl.load(K + (start_n + offs_n)[None, :] * stride + offs_d[:, None])
        qk = tl.dot(q, k) * scale
        if STAGE == 2:
            qk = tl.where(offs_m[:, None] >= (start_n + offs_n[None, :]), qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_ij[:, None])
        alpha = tl.exp(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]  # rescale
        v = tl.load(V + (start_n + offs_n)[:, None] * stride + offs_d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def kernel(Q, K, V, Out, stride, scale, N_CTX, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr):
    start_m = tl.program_id(0)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    q = tl.load(Q + offs_m[:, None] * stride + offs_d[None, :])
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    # stage 1: off-band
    if STAGE & 1:
        acc, l_i, m_i = _attn_fwd_inner(acc, l_i, m_i, q, K, V, start_m, stride, scale,
                                        BLOCK_M, BLOCK_N, HEAD, 4 - STAGE, N_CTX, offs_m, offs_n)  # the long part
    # stage 2: on-band
    if STAGE & 2:
        acc, l_i, m_i = _attn_fwd_inner(acc, l_i, m_i, q, K, V, start_m, stride, scale,
                                        BLOCK_M, BLOCK_N, HEAD, 2, N_CTX, offs_m, offs_n)
    acc = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * stride + offs_d[None, :], acc.to(Out.type.element_ty))
# output
@triton.jit
def kernel(Q, K, V, Out, stride, scale, N_CTX, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr):
    start_m = tl.program_id(0)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    q = tl.load(Q + offs_m[:, None] * stride + offs_d[None, :])
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    # stage 1: off-band
    if STAGE & 1:
        # the long part
        STAGE_1: tl.constexpr = 4 - STAGE
        # Goes once over the keys of one stage.
        # range of values handled by this stage
        if STAGE_1 == 1:
            lo, hi = 0, start_m * BLOCK_M
        elif STAGE_1 == 2:
            lo, hi = start_m * BLOCK_M, (start_m + 1) * BLOCK_M
        else:
            lo, hi = 0, N_CTX
        offs_d_1 = tl.arange(0, HEAD)
        for start_n in range(lo, hi, BLOCK_N):
            # -- compute qk ----
            k = tl.load(K + (start_n + offs_n)[None, :] * stride + offs_d_1[:, None])
            qk = tl.dot(q, k) * scale
            if STAGE_1 == 2:
                qk = tl.where(offs_m[:, None] >= (start_n + offs_n[None, :]), qk, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            p = tl.exp(qk - m_ij[:, None])
            alpha = tl.exp(m_i - m_ij)
            l_i = l_i * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None]  # rescale
            v = tl.load(V + (start_n + offs_n)[:, None] * stride + offs_d_1[None, :])
            acc = tl.dot(p.to(v.dtype), v, acc)
            m_i = m_ij
    # stage 2: on-band
    if STAGE & 2:
        # Goes once over the keys of one stage.
        # range of values handled by this stage
        lo_2, hi_2 = start_m * BLOCK_M, (start_m + 1) * BLOCK_M
        offs_d_2 = tl.arange(0, HEAD)
        for start_n_2 in range(lo_2, hi_2, BLOCK_N):
            # -- compute qk ----
            k_2 = tl.load(K + (start_n_2 + offs_n)[None, :] * stride + offs_d_2[:, None])
            qk_2 = tl.dot(q, k_2) * scale
            qk_2 = tl.where(offs_m[:, None] >= (start_n_2 + offs_n[None, :]), qk_2, -1.0e6)
            m_ij_2 = tl.maximum(m_i, tl.max(qk_2, 1))
            p_2 = tl.exp(qk_2 - m_ij_2[:, None])
            alpha_2 = tl.exp(m_i - m_ij_2)
            l_i = l_i * alpha_2 + tl.sum(p_2, 1)
            acc = acc * alpha_2[:, None]  # rescale
            v_2 = tl.load(V + (start_n_2 + offs_n)[:, None] * stride + offs_d_2[None, :])
            acc = tl.dot(p_2.to(v_2.dtype), v_2, acc)
            m_i = m_ij_2
    acc = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * stride + offs_d[None, :], acc.to(Out.type.element_ty))
