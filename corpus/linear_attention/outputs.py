"""The outputs of chunked linear attention: O = Q S + tril(Q Kᵀ) V for one chunk, with the depth walked in tiles."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BK": 64, "BV": 64}, num_warps=4, num_stages=3),
             triton.Config({"BK": 32, "BV": 128}, num_warps=4, num_stages=3)],
    key=["KD", "VD"],
)  # fmt: skip
@triton.jit
def outputs_kernel(
    q, k, v, s, o, scale, T, KD, VD, sqh, sqt, svh, svt, ssh, ssc, ssk,
    BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    i_v, i_t, i_h = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    t = i_t * BT + tl.arange(0, BT)
    vv = i_v * BV + tl.arange(0, BV)
    b_o = tl.zeros([BT, BV], dtype=tl.float32)
    b_a = tl.zeros([BT, BT], dtype=tl.float32)
    for i_k in range(tl.cdiv(KD, BK)):
        kk = i_k * BK + tl.arange(0, BK)
        b_q = tl.load(q + i_h * sqh + t[:, None] * sqt + kk[None, :], mask=(t[:, None] < T) & (kk[None, :] < KD), other=0.0)
        b_k = tl.load(k + i_h * sqh + t[None, :] * sqt + kk[:, None], mask=(t[None, :] < T) & (kk[:, None] < KD), other=0.0)
        b_s = tl.load(s + i_h * ssh + i_t * ssc + kk[:, None] * ssk + vv[None, :], mask=(kk[:, None] < KD) & (vv[None, :] < VD), other=0.0)
        b_o += tl.dot(b_q, b_s)
        b_a += tl.dot(b_q, b_k)
    b_a = tl.where(t[:, None] >= t[None, :], b_a, 0)
    b_v = tl.load(v + i_h * svh + t[:, None] * svt + vv[None, :], mask=(t[:, None] < T) & (vv[None, :] < VD), other=0.0)
    b_o = b_o * scale + tl.dot(b_a.to(b_v.dtype), b_v) * scale
    tl.store(o + i_h * svh + t[:, None] * svt + vv[None, :], b_o.to(o.dtype.element_ty), mask=(t[:, None] < T) & (vv[None, :] < VD))


def chunk_outputs(q, k, v, s, scale, chunk=64):
    """q, k: (H, T, KD), v: (H, T, VD), s: (H, T / chunk, KD, VD)."""
    (H, T, KD), VD = q.shape, v.shape[2]
    o = torch.empty_like(v)
    grid = lambda meta: (triton.cdiv(VD, meta["BV"]), triton.cdiv(T, chunk), H)  # noqa: E731
    outputs_kernel[grid](q, k, v, s, o, scale, T, KD, VD, *q.stride()[:2], *v.stride()[:2], *s.stride()[:3], BT=chunk)
    return o
