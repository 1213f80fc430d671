"""Rows are sorted by expert and padded to whole tiles: each tile of rows reads its expert's number and that one's weights."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}, num_warps=4, num_stages=4),
    ],
    key=["N", "K"],
)
@triton.jit
def sorted_rows_kernel(
    x_ptr,  # (rows, K), rows of an expert together
    w_ptr,  # (experts, K, N)
    y_ptr,  # (rows, N)
    expert_ptr,  # (tiles of rows,) int32
    rows, experts, N, K,
    stride_xm, stride_we, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    expert = tl.load(expert_ptr + tile)
    if expert < 0:
        return  # a tile without rows
    m = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        kk = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + m[:, None] * stride_xm + kk[None, :], mask=(m[:, None] < rows) & (kk[None, :] < K), other=0.0)
        w = tl.load(
            w_ptr + expert * stride_we + kk[:, None] * stride_wk + n[None, :],
            mask=(kk[:, None] < K) & (n[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + m[:, None] * stride_ym + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=(m[:, None] < rows) & (n[None, :] < N))


def sorted_rows(x, w, expert_of_tile):
    """x: (rows, K), w: (experts, K, N), expert_of_tile: one number per 128 rows, −1 for none."""
    (rows, K), N = x.shape, w.shape[2]
    y = torch.zeros((rows, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))  # noqa: E731
    sorted_rows_kernel[grid](
        x, w, y, expert_of_tile, rows, w.shape[0], N, K, x.stride(0), w.stride(0), w.stride(1), y.stride(0)
    )
    return y
