"""The gradient of the queries: P is computed again from the saved log-sum-exp, then dQ = scale · (P ∘ (dP − Δ)) @ K."""

import torch
import triton
import triton.language as tl

LN2_INV = tl.constexpr(1.4426950408889634)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=2),
    ],
    key=["N_CTX"],
)
@triton.jit
def dq_kernel(
    Q, K, V, DO, LSE, DELTA, DQ,
    sm_scale,
    stride_h, stride_n,
    N_CTX,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    offset = head * stride_h
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    rows = offset + offs_m[:, None] * stride_n + offs_d[None, :]
    in_m = offs_m < N_CTX
    q = tl.load(Q + rows, mask=in_m[:, None], other=0.0)
    do = tl.load(DO + rows, mask=in_m[:, None], other=0.0)
    lse = tl.load(LSE + head * N_CTX + offs_m, mask=in_m, other=0.0)
    delta = tl.load(DELTA + head * N_CTX + offs_m, mask=in_m, other=0.0)
    dq = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start_n in range(0, N_CTX, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        cols = offset + offs_n[:, None] * stride_n + offs_d[None, :]
        k = tl.load(K + cols, mask=offs_n[:, None] < N_CTX, other=0.0)
        v = tl.load(V + cols, mask=offs_n[:, None] < N_CTX, other=0.0)
        qk = tl.dot(q, tl.trans(k))
        p = tl.math.exp2(qk * (sm_scale * LN2_INV) - lse[:, None])
        p = tl.where(offs_n[None, :] < N_CTX, p, 0.0)
        dp = tl.dot(do, tl.trans(v))
        ds = (p * (dp - delta[:, None])).to(k.dtype)
        dq += tl.dot(ds, k)
    dq = dq * sm_scale
    tl.store(DQ + rows, dq.to(DQ.dtype.element_ty), mask=in_m[:, None])


def query_gradient(q, k, v, do, lse, delta, sm_scale):
    """q, k, v, do: (heads, N_CTX, D) of equal strides; lse (base 2) and delta: (heads, N_CTX) fp32."""
    heads, N_CTX, D = q.shape
    dq = torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(N_CTX, meta["BLOCK_M"]), heads)  # noqa: E731
    dq_kernel[grid](q, k, v, do, lse, delta, dq, sm_scale, q.stride(0), q.stride(1), N_CTX, D=D)
    return dq
