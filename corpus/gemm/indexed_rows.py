"""A GEMM over rows that a list picks: `y[i] = x[ids[i]] @ w`."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_warps=8, num_stages=4),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=4, num_stages=4),
    ],
    key=["N", "K"],
)
@triton.jit
def indexed_rows_kernel(
    x_ptr,  # (any number of rows, K)
    ids_ptr,  # (rows,) int32
    w_ptr,  # (K, N)
    y_ptr,  # (rows, N)
    rows, N, K,
    stride_xm, stride_xk, stride_wk, stride_wn, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Past the end of the list, row 0 is as good as any other.
    row = tl.load(ids_ptr + m, mask=m < rows, other=0)
    x_ptrs = x_ptr + row[:, None] * stride_xm + k[None, :] * stride_xk
    w_ptrs = w_ptr + k[:, None] * stride_wk + n[None, :] * stride_wn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=k[None, :] < K - start, other=0.0)
        w = tl.load(w_ptrs, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc)
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * stride_wk
    tl.store(y_ptr + m[:, None] * stride_ym + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=(m[:, None] < rows) & (n[None, :] < N))


def indexed_rows(x, ids, w):
    """x: (any number of rows, K), ids: (rows,) int32, w: (K, N)."""
    (K, N), rows = w.shape, ids.numel()
    y = torch.empty((rows, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))  # noqa: E731
    indexed_rows_kernel[grid](x, ids, w, y, rows, N, K, *x.stride(), *w.stride(), y.stride(0))
    return y
