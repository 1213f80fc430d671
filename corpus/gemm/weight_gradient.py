"""dW = dYᵀ @ X: both operands are walked down their rows, and the first is turned on its way to the dot."""

import torch
import triton
import triton.language as tl


@triton.jit
def weight_gradient_kernel(
    dy_ptr, x_ptr, dw_ptr,
    tokens, n_out, n_in,
    stride_dy, stride_x, stride_dw,
    BLOCK_OUT: tl.constexpr, BLOCK_IN: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    o = tl.program_id(0) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    i = tl.program_id(1) * BLOCK_IN + tl.arange(0, BLOCK_IN)
    t = tl.arange(0, BLOCK_T)
    dy_ptrs = dy_ptr + t[:, None] * stride_dy + o[None, :]
    x_ptrs = x_ptr + t[:, None] * stride_x + i[None, :]
    acc = tl.zeros((BLOCK_OUT, BLOCK_IN), dtype=tl.float32)
    for start in range(0, tokens, BLOCK_T):
        here = (start + t)[:, None] < tokens
        dy = tl.load(dy_ptrs, mask=here & (o[None, :] < n_out), other=0.0)
        x = tl.load(x_ptrs, mask=here & (i[None, :] < n_in), other=0.0)
        acc += tl.dot(tl.trans(dy), x)
        dy_ptrs += BLOCK_T * stride_dy
        x_ptrs += BLOCK_T * stride_x
    tl.store(
        dw_ptr + o[:, None] * stride_dw + i[None, :],
        acc.to(dw_ptr.dtype.element_ty),
        mask=(o[:, None] < n_out) & (i[None, :] < n_in),
    )


def weight_gradient(dy, x):
    """dy: (tokens, out), x: (tokens, in); returns (out, in) in fp32."""
    (tokens, n_out), n_in = dy.shape, x.shape[1]
    dw = torch.empty((n_out, n_in), device=x.device, dtype=torch.float32)
    weight_gradient_kernel[(triton.cdiv(n_out, 128), triton.cdiv(n_in, 128))](
        dy, x, dw, tokens, n_out, n_in, dy.stride(0), x.stride(0), dw.stride(0),
        BLOCK_OUT=128, BLOCK_IN=128, BLOCK_T=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return dw
