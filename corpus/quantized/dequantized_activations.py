"""int8 activations become fp16 on their way to the dot; the weights are fp16 already: the first operand comes from registers."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=4, num_stages=4),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def a8w16_kernel(
    x_ptr, w_ptr, y_ptr, scale, M, N, K, stride_xm, stride_wk, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        at = k + depth
        x = tl.load(x_ptr + rows[:, None] * stride_xm + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0)
        w = tl.load(w_ptr + at[:, None] * stride_wk + cols[None, :], mask=(at[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(x.to(w.dtype), w, acc)
    y = (acc * scale).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + rows[:, None] * stride_ym + cols[None, :], y, mask=(rows[:, None] < M) & (cols[None, :] < N))


def a8w16_linear(x, w, scale):
    """x: (M, K) int8, w: (K, N) fp16, scale: a number."""
    (M, K), N = x.shape, w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=w.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))  # noqa: E731
    a8w16_kernel[grid](x, w, y, scale, M, N, K, x.stride(0), w.stride(0), y.stride(0))
    return y
