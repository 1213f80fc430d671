"""bmm over a (B, H) batch with weights that all of a batch share: strides of 0, 64-bit offsets, a grid of three axes."""

import torch
import triton
import triton.language as tl


@triton.jit
def shared_weight_bmm_kernel(
    x_ptr, w_ptr, y_ptr,
    B, H, M, N, K,
    sxb, sxh, sxm, sxk,
    swh, swk, swn,
    syb, syh, sym, syn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    bh = tl.program_id(2).to(tl.int64)
    b, h = bh // H, bh % H
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    x_ptr += b * sxb + h * sxh
    w_ptr += h * swh
    y_ptr += b * syb + h * syh
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        kk = start + offs_k
        x = tl.load(x_ptr + offs_m[:, None] * sxm + kk[None, :] * sxk, mask=(offs_m[:, None] < M) & (kk[None, :] < K), other=0)
        w = tl.load(w_ptr + kk[:, None] * swk + offs_n[None, :] * swn, mask=(kk[:, None] < K) & (offs_n[None, :] < N), other=0)
        acc = tl.dot(x, w, acc)
    y = acc.to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + offs_m[:, None] * sym + offs_n[None, :] * syn, y, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def shared_weight_bmm(x, w):
    """x: (B, H, M, K), w: (H, K, N); returns (B, H, M, N)."""
    (B, H, M, K), N = x.shape, w.shape[-1]
    y = torch.empty((B, H, M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64), B * H)
    shared_weight_bmm_kernel[grid](
        x, w, y, B, H, M, N, K, *x.stride(), *w.stride(), *y.stride(),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_warps=4, num_stages=3,
    )  # fmt: skip
    return y
