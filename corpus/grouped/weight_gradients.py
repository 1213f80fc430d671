"""dW of each group: the loop runs over the group's own rows, and what it sums over ends where the group does."""

import torch
import triton
import triton.language as tl


@triton.jit
def group_wgrad_kernel(
    x_ptr, dy_ptr, dw_ptr, offsets_ptr, K, N, stride_xm, stride_dym, stride_dwg, stride_dwk,
    BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(2)
    begin = tl.load(offsets_ptr + g)
    end = tl.load(offsets_ptr + g + 1)
    k = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_K, BLOCK_N), dtype=tl.float32)
    for row in range(begin, end, BLOCK_M):
        m = row + tl.arange(0, BLOCK_M)
        x = tl.load(x_ptr + m[None, :] * stride_xm + k[:, None], mask=(m[None, :] < end) & (k[:, None] < K), other=0.0)
        dy = tl.load(dy_ptr + m[:, None] * stride_dym + n[None, :], mask=(m[:, None] < end) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, dy, acc)
    out = dw_ptr + g * stride_dwg + k[:, None] * stride_dwk + n[None, :]
    tl.store(out, acc.to(dw_ptr.dtype.element_ty), mask=(k[:, None] < K) & (n[None, :] < N))


def group_weight_gradients(x, dy, offsets):
    """x: (rows, K), dy: (rows, N), offsets: (groups + 1,) int32; returns (groups, K, N)."""
    K, N, groups = x.shape[1], dy.shape[1], offsets.numel() - 1
    dw = torch.empty((groups, K, N), device=x.device, dtype=x.dtype)
    group_wgrad_kernel[(triton.cdiv(K, 128), triton.cdiv(N, 128), groups)](
        x, dy, dw, offsets, K, N, x.stride(0), dy.stride(0), dw.stride(0), dw.stride(1),
        BLOCK_K=128, BLOCK_N=128, BLOCK_M=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return dw
