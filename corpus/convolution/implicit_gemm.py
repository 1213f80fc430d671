# expect: TLX208
"""A convolution as an implicit GEMM: the depth runs over channels and taps, which division takes apart again."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv2d_kernel(
    x_ptr, w_ptr, y_ptr, N, C, H, W, OC, OH, OW,
    sxn, sxc, sxh, sxw, swo, syn, syc, syh, syw,
    KH: tl.constexpr, KW: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pixels = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    oc = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    n = pixels // (OH * OW)
    oh = pixels // OW % OH
    ow = pixels % OW
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    depth = C * KH * KW
    for start in range(0, depth, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        c, tap = k // (KH * KW), k % (KH * KW)
        ih = oh[:, None] * STRIDE - PAD + (tap // KW)[None, :]
        iw = ow[:, None] * STRIDE - PAD + (tap % KW)[None, :]
        inside = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W) & (k[None, :] < depth) & (n[:, None] < N)
        x = tl.load(x_ptr + n[:, None] * sxn + c[None, :] * sxc + ih * sxh + iw * sxw, mask=inside, other=0.0)
        w = tl.load(w_ptr + oc[None, :] * swo + k[:, None], mask=(k[:, None] < depth) & (oc[None, :] < OC), other=0.0)
        acc += tl.dot(x, w)
    y = y_ptr + n[:, None] * syn + oc[None, :] * syc + oh[:, None] * syh + ow[:, None] * syw
    tl.store(y, acc.to(y_ptr.dtype.element_ty), mask=(n[:, None] < N) & (oc[None, :] < OC))


def conv2d(x, w, stride=1, pad=1):
    """x: (N, C, H, W), w: (OC, C, KH, KW) contiguous."""
    (N, C, H, W), (OC, _, KH, KW) = x.shape, w.shape
    OH, OW = (H + 2 * pad - KH) // stride + 1, (W + 2 * pad - KW) // stride + 1
    y = torch.empty((N, OC, OH, OW), device=x.device, dtype=x.dtype)
    conv2d_kernel[(triton.cdiv(N * OH * OW, 128), triton.cdiv(OC, 64))](
        x, w, y, N, C, H, W, OC, OH, OW, *x.stride(), w.stride(0), *y.stride(),
        KH=KH, KW=KW, STRIDE=stride, PAD=pad, BLOCK_M=128, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=3,
    )  # fmt: skip
    return y
