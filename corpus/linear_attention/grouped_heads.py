"""One matrix per chunk applied to keys that groups of heads share: W = A K, packed as (batch, time, head, element).

The chunk's length is a tile, a stride and a shape at once, batch, time and head share one offset, and sequences may be
packed one behind the other.
"""

import torch
import triton
import triton.language as tl

if torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0):
    PRECISION = tl.constexpr("tf32")
else:
    PRECISION = tl.constexpr("ieee")


@triton.heuristics({"PACKED": lambda args: args["starts"] is not None, "DECAYED": lambda args: args["g"] is not None})
@triton.autotune(
    configs=[triton.Config({"BK": 64}, num_warps=4, num_stages=3), triton.Config({"BK": 32}, num_warps=8, num_stages=2)],
    key=["HK", "HV", "D"],
)
@triton.jit
def grouped_heads_kernel(
    a, k, g, w, starts, chunks, T, HK: tl.constexpr, HV: tl.constexpr, D: tl.constexpr,
    BT: tl.constexpr, BK: tl.constexpr, PACKED: tl.constexpr, DECAYED: tl.constexpr,
):  # fmt: skip
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // HV, i_bh % HV
    if PACKED:
        i_n = tl.load(chunks + 2 * i_t)
        i_t = tl.load(chunks + 2 * i_t + 1)
        first = tl.load(starts + i_n)
        T = tl.load(starts + i_n + 1) - first
    else:
        first = i_b * T
    t = i_t * BT + tl.arange(0, BT)
    o = tl.arange(0, BT)
    inside = t < T
    p_a = a + (first * HV + i_h) * BT + t[:, None] * (HV * BT) + o[None, :]
    b_a = tl.load(p_a, mask=inside[:, None] & (o[None, :] < BT), other=0.0)
    if DECAYED:
        b_g = tl.load(g + (first + t) * HV + i_h, mask=inside, other=0.0)
    for i_k in range(tl.cdiv(D, BK)):
        d = i_k * BK + tl.arange(0, BK)
        m = inside[:, None] & (d[None, :] < D)
        b_k = tl.load(k + (first * HK + i_h // (HV // HK)) * D + t[:, None] * (HK * D) + d[None, :], mask=m, other=0.0)
        b_w = tl.dot(b_a, b_k, input_precision=PRECISION)
        if DECAYED:
            b_w *= tl.exp(b_g)[:, None]
        p_w = w + (first * HV + i_h) * D + t[:, None] * (HV * D) + d[None, :]
        tl.store(p_w, b_w.to(w.dtype.element_ty), mask=m)


def chunk_products(a, k, g=None, starts=None, chunks=None):
    """a: (B, T, HV, BT), k: (B, T, HK, D) → (B, T, HV, D); with `starts`, B is 1 and `chunks` lists (sequence, chunk)."""
    (B, T, HV, BT), (HK, D) = a.shape, k.shape[2:]
    w = torch.empty(B, T, HV, D, dtype=k.dtype, device=k.device)
    number = triton.cdiv(T, BT) if chunks is None else len(chunks)
    grouped_heads_kernel[number, B * HV](a, k, g, w, starts, chunks, T, HK, HV, D, BT=BT)
    return w
