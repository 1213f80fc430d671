"""y = x @ W + s · (x @ A) @ B, a LoRA layer in one kernel: the loop makes both products, the adapter's end follows it."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=4, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def low_rank_kernel(
    x_ptr, w_ptr, a_ptr, b_ptr, y_ptr, s, M, N, K,
    stride_xm, stride_wk, stride_ak, stride_br, stride_ym,
    RANK: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rr = tl.arange(0, RANK)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    low = tl.zeros((BLOCK_M, RANK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rm[:, None] * stride_xm + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        w = tl.load(w_ptr + rk[:, None] * stride_wk + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        a = tl.load(a_ptr + rk[:, None] * stride_ak + rr[None, :], mask=rk[:, None] < K, other=0.0)
        acc = tl.dot(x, w, acc)
        low = tl.dot(x, a, low)
    b = tl.load(b_ptr + rr[:, None] * stride_br + rn[None, :], mask=rn[None, :] < N, other=0.0)
    acc += s * tl.dot(low.to(b.dtype), b)
    tl.store(y_ptr + rm[:, None] * stride_ym + rn[None, :], acc.to(y_ptr.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


def low_rank_linear(x, w, a, b, s):
    """x: (M, K), w: (K, N), a: (K, 64), b: (64, N)."""
    (M, K), N = x.shape, w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))  # noqa: E731
    low_rank_kernel[grid](
        x, w, a, b, y, s, M, N, K, x.stride(0), w.stride(0), a.stride(0), b.stride(0), y.stride(0), RANK=a.shape[1]
    )
    return y
