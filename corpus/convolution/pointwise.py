"""A 1 × 1 convolution in NHWC, strided: a GEMM per image, whose rows are the pixels of the image."""

import torch
import triton
import triton.language as tl


@triton.jit
def pointwise_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, pixels, C, OC, sxn, sxp, swc, syn, syp,
    BLOCK_P: tl.constexpr, BLOCK_O: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(2)
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    o = tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O)
    acc = tl.zeros((BLOCK_P, BLOCK_O), tl.float32) + tl.load(b_ptr + o, mask=o < OC, other=0.0)[None, :].to(tl.float32)
    for start in range(0, C, BLOCK_C):
        c = start + tl.arange(0, BLOCK_C)
        x = tl.load(x_ptr + image * sxn + p[:, None] * sxp + c[None, :], mask=(p[:, None] < pixels) & (c[None, :] < C), other=0.0)
        w = tl.load(w_ptr + c[:, None] * swc + o[None, :], mask=(c[:, None] < C) & (o[None, :] < OC), other=0.0)
        acc = tl.dot(x, w, acc)
    acc = tl.maximum(acc, 0.0)
    tl.store(y_ptr + image * syn + p[:, None] * syp + o[None, :], acc.to(y_ptr.dtype.element_ty), mask=(p[:, None] < pixels) & (o[None, :] < OC))


def pointwise(x, w, b):
    """x: (N, H, W, C), w: (C, OC), b: (OC,); returns relu(x @ w + b) as (N, H, W, OC)."""
    (N, H, W, C), OC = x.shape, w.shape[1]
    y = torch.empty((N, H, W, OC), device=x.device, dtype=x.dtype)
    pointwise_kernel[(triton.cdiv(H * W, 128), triton.cdiv(OC, 64), N)](
        x, w, b, y, H * W, C, OC, x.stride(0), x.stride(2), w.stride(0), y.stride(0), y.stride(2),
        BLOCK_P=128, BLOCK_O=64, BLOCK_C=64, num_warps=4, num_stages=3,
    )  # fmt: skip
    return y
