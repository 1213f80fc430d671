"""relu(x @ W1) @ W2 with the hidden layer in registers: tiles of it are made and used up one after the other."""

import torch
import triton
import triton.language as tl


@triton.jit
def mlp_kernel(
    x_ptr, w1_ptr, w2_ptr, y_ptr, M, HIDDEN, stride_x, stride_w1, stride_w2, stride_y,
    BLOCK_M: tl.constexpr, BLOCK_H: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, WIDTH)
    x = tl.load(x_ptr + m[:, None] * stride_x + d[None, :], mask=m[:, None] < M, other=0.0)
    y = tl.zeros((BLOCK_M, WIDTH), dtype=tl.float32)
    for h0 in range(0, HIDDEN, BLOCK_H):
        h = h0 + tl.arange(0, BLOCK_H)
        w1 = tl.load(w1_ptr + d[:, None] * stride_w1 + h[None, :], mask=h[None, :] < HIDDEN, other=0.0)
        w2 = tl.load(w2_ptr + h[:, None] * stride_w2 + d[None, :], mask=h[:, None] < HIDDEN, other=0.0)
        hidden = tl.maximum(tl.dot(x, w1), 0.0)
        y = tl.dot(hidden.to(x.dtype), w2, y)
    tl.store(y_ptr + m[:, None] * stride_y + d[None, :], y.to(y_ptr.dtype.element_ty), mask=m[:, None] < M)


def mlp(x, w1, w2):
    """x: (M, 128), w1: (128, hidden), w2: (hidden, 128)."""
    y = torch.empty_like(x)
    mlp_kernel[(triton.cdiv(x.shape[0], 128),)](
        x, w1, w2, y, x.shape[0], w1.shape[1], x.stride(0), w1.stride(0), w2.stride(0), y.stride(0),
        BLOCK_M=128, BLOCK_H=64, WIDTH=x.shape[1], num_warps=8, num_stages=2,
    )  # fmt: skip
    return y
