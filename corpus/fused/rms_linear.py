"""y = rmsnorm(x) @ W with the rows' sums of squares taken from the tiles that the dots read: the tile has two uses."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_linear_kernel(
    x_ptr, w_ptr, y_ptr, eps, M, N, K, stride_xm, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    squares = tl.zeros((BLOCK_M,), dtype=tl.float32)
    # One stage: Triton gives a tile of two uses one slot too few, and the source would race (docs/verifying.md).
    for start in tl.range(0, K, BLOCK_K, num_stages=1):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + m[:, None] * stride_xm + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * stride_wk + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        xf = x.to(tl.float32)
        squares += tl.sum(xf * xf, axis=1)
        acc += tl.dot(x, w)
    acc *= tl.rsqrt(squares / K + eps)[:, None]
    tl.store(y_ptr + m[:, None] * stride_ym + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def rms_linear(x, w, eps=1e-6):
    """x: (M, K), w: (K, N) with the norm's gain folded in."""
    (M, K), N = x.shape, w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    rms_linear_kernel[(triton.cdiv(M, 128), triton.cdiv(N, 128))](
        x, w, y, eps, M, N, K, x.stride(0), w.stride(0), y.stride(0),
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return y
