# expect: TLX302
"""y = x @ W for a depth that one tile holds: there is no loop whose loads could run ahead."""

import torch
import triton
import triton.language as tl


@triton.jit
def one_dot_kernel(
    x_ptr, w_ptr, y_ptr, M, N, stride_x, stride_w, stride_y,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, DEPTH)
    x = tl.load(x_ptr + rows[:, None] * stride_x + depth[None, :], mask=rows[:, None] < M, other=0.0)
    w = tl.load(w_ptr + depth[:, None] * stride_w + cols[None, :], mask=cols[None, :] < N, other=0.0)
    y = tl.dot(x, w)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(y_ptr + rows[:, None] * stride_y + cols[None, :], y.to(y_ptr.dtype.element_ty), mask=inside)


def small_linear(x, w):
    """x: (M, 64), w: (64, N)."""
    y = torch.empty((x.shape[0], w.shape[1]), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(x.shape[0], 64), triton.cdiv(w.shape[1], 64))
    one_dot_kernel[grid](
        x, w, y, x.shape[0], w.shape[1], x.stride(0), w.stride(0), y.stride(0), BLOCK_M=64, BLOCK_N=64, DEPTH=64
    )
    return y
