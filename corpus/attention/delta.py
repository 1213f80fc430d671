# expect: TLX301
"""Δ = rowsum(O ∘ dO), what the backward pass needs beforehand: no dot, nothing to specialize."""

import torch
import triton
import triton.language as tl


@triton.jit
def delta_kernel(o_ptr, do_ptr, delta_ptr, rows, stride, BLOCK_M: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    at = m[:, None] * stride + d[None, :]
    o = tl.load(o_ptr + at, mask=m[:, None] < rows, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + at, mask=m[:, None] < rows, other=0.0).to(tl.float32)
    tl.store(delta_ptr + m, tl.sum(o * do, axis=1), mask=m < rows)


def delta(o, do):
    """o, do: (rows, D) with contiguous rows; returns (rows,) fp32."""
    result = torch.empty(o.shape[0], device=o.device, dtype=torch.float32)
    delta_kernel[(triton.cdiv(o.shape[0], 32),)](o, do, result, o.shape[0], o.stride(0), BLOCK_M=32, D=o.shape[1])
    return result
