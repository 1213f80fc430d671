"""The gradients of keys and values: a program owns a block of keys and walks over the queries, four dots a trip."""

import torch
import triton
import triton.language as tl


@triton.jit
def dkdv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    sm_scale, stride_b, stride_h, stride_t, H, T,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start_n = tl.program_id(0) * BLOCK_N
    bh = tl.program_id(1)
    base = (bh // H) * stride_b + (bh % H) * stride_h
    n = start_n + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    k = tl.load(k_ptr + base + n[:, None] * stride_t + d[None, :], mask=n[:, None] < T, other=0.0)
    v = tl.load(v_ptr + base + n[:, None] * stride_t + d[None, :], mask=n[:, None] < T, other=0.0)
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    begin = start_n // BLOCK_M * BLOCK_M if CAUSAL else 0
    for start_m in range(begin, T, BLOCK_M):
        m = start_m + tl.arange(0, BLOCK_M)
        q = tl.load(q_ptr + base + m[:, None] * stride_t + d[None, :], mask=m[:, None] < T, other=0.0)
        lse = tl.load(lse_ptr + bh * T + m, mask=m < T, other=0.0)
        # Keys are the rows here, so that P and dS are the first operands as they are.
        s = tl.dot(k, tl.trans(q)) * sm_scale
        p = tl.exp(s - lse[None, :])
        keep = (n[:, None] < T) & (m[None, :] < T)
        if CAUSAL:
            keep = keep & (m[None, :] >= n[:, None])
        p = tl.where(keep, p, 0.0)
        do = tl.load(do_ptr + base + m[:, None] * stride_t + d[None, :], mask=m[:, None] < T, other=0.0)
        dv = tl.dot(p.to(do.dtype), do, dv)
        delta = tl.load(delta_ptr + bh * T + m, mask=m < T, other=0.0)
        dp = tl.dot(v, tl.trans(do))
        ds = p * (dp - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk)
    out = base + n[:, None] * stride_t + d[None, :]
    tl.store(dv_ptr + out, dv.to(dv_ptr.dtype.element_ty), mask=n[:, None] < T)
    tl.store(dk_ptr + out, (dk * sm_scale).to(dk_ptr.dtype.element_ty), mask=n[:, None] < T)


def key_value_gradients(q, k, v, do, lse, delta, sm_scale, causal):
    """q, k, v, do: (B, H, T, D) of equal strides; lse (natural) and delta: (B, H, T) fp32."""
    B, H, T, D = q.shape
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    dkdv_kernel[(triton.cdiv(T, 64), B * H)](
        q, k, v, do, lse, delta, dk, dv, sm_scale, *q.stride()[:3], H, T,
        CAUSAL=causal, BLOCK_M=64, BLOCK_N=64, D=D, num_warps=4, num_stages=2,
    )  # fmt: skip
    return dk, dv
