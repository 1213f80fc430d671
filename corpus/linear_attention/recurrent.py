# expect: TLX305
"""Inter-chunk recurrence in one pass: O = Q S, then S = S · decay + Kᵀ V: the state is the second operand of a dot."""

import torch
import triton
import triton.language as tl


@triton.jit
def recurrent_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, decay, T, stride_h, stride_t, stride_vh, stride_vt,
    CHUNK: tl.constexpr, KD: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    h = tl.program_id(1)
    d = tl.arange(0, KD)
    j = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    state = tl.zeros((KD, BLOCK_V), dtype=tl.float32)
    for start in range(0, T, CHUNK):
        t = start + tl.arange(0, CHUNK)
        q = tl.load(q_ptr + h * stride_h + t[:, None] * stride_t + d[None, :], mask=t[:, None] < T, other=0.0)
        k = tl.load(k_ptr + h * stride_h + t[:, None] * stride_t + d[None, :], mask=t[:, None] < T, other=0.0)
        v = tl.load(v_ptr + h * stride_vh + t[:, None] * stride_vt + j[None, :], mask=t[:, None] < T, other=0.0)
        scores = tl.dot(q, tl.trans(k))
        scores = tl.where(t[:, None] >= t[None, :], scores, 0.0)
        o = tl.dot(scores.to(v.dtype), v) + tl.dot(q, state.to(q.dtype))
        tl.store(o_ptr + h * stride_vh + t[:, None] * stride_vt + j[None, :], o.to(o_ptr.dtype.element_ty), mask=t[:, None] < T)
        state = state * decay + tl.dot(tl.trans(k), v)


def recurrent(q, k, v, decay):
    """q, k: (H, T, 64), v: (H, T, VD) with VD a multiple of 64."""
    (H, T, KD), VD = q.shape, v.shape[2]
    o = torch.empty_like(v)
    recurrent_kernel[(VD // 64, H)](
        q, k, v, o, decay, T, *q.stride()[:2], *v.stride()[:2], CHUNK=64, KD=KD, BLOCK_V=64, num_warps=4, num_stages=2
    )
    return o
