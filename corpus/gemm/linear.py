"""Y = gelu(X @ Wᵀ + bias) + residual: the weight is stored row by row as (N, K) and transposed on its way to the dot."""

import triton
import triton.language as tl


@triton.jit
def gelu(x):
    # The tanh approximation, through the logistic function: one exponential instead of two.
    return x * tl.sigmoid(1.595769122 * (x + 0.044715 * x * x * x))


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_stages=3, num_warps=8),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}, num_stages=4, num_warps=4),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def linear_gelu_kernel(
    x_ptr, w_ptr, bias_ptr, residual_ptr, y_ptr,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr,
):
    """All tensors are contiguous: X (M, K), W (N, K), bias (N,), residual and Y (M, N)."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rows[:, None] * K + depth[None, :]
    w_ptrs = w_ptr + cols[:, None] * K + depth[None, :]

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K  # what is still to come along K
        x = tl.load(x_ptrs, mask=(rows[:, None] < M) & (depth[None, :] < left), other=0.0)
        w = tl.load(w_ptrs, mask=(cols[:, None] < N) & (depth[None, :] < left), other=0.0)
        acc = tl.dot(x, tl.trans(w), acc)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K

    if HAS_BIAS:
        bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        acc = acc + bias[None, :]
    acc = gelu(acc)
    offsets = rows[:, None] * N + cols[None, :]
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    if HAS_RESIDUAL:
        acc += tl.load(residual_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, acc.to(y_ptr.dtype.element_ty), mask=inside)
