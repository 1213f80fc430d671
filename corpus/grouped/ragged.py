"""Groups of rows lie one after the other; offsets on the device say where each begins. Programs past the end leave."""

import torch
import triton
import triton.language as tl


@triton.jit
def ragged_kernel(
    x_ptr, w_ptr, y_ptr, offsets_ptr, rows, N, K, stride_xm, stride_wg, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(2)
    begin = tl.load(offsets_ptr + g)
    end = tl.load(offsets_ptr + g + 1)
    first = begin + tl.program_id(0) * BLOCK_M
    if first >= end:
        return
    m = first + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        # Rows of the next group may be read; they are not written.
        x = tl.load(x_ptr + m[:, None] * stride_xm + k[None, :], mask=(m[:, None] < rows) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + g * stride_wg + k[:, None] * stride_wk + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, w)
    tl.store(y_ptr + m[:, None] * stride_ym + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=(m[:, None] < end) & (n[None, :] < N))


def ragged_matmul(x, w, offsets, longest):
    """x: (rows, K), w: (groups, K, N), offsets: (groups + 1,) int32; returns (rows, N)."""
    (rows, K), (groups, _, N) = x.shape, w.shape
    y = torch.empty((rows, N), device=x.device, dtype=x.dtype)
    ragged_kernel[(triton.cdiv(longest, 128), triton.cdiv(N, 128), groups)](
        x, w, y, offsets, rows, N, K, x.stride(0), w.stride(0), w.stride(1), y.stride(0),
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return y
