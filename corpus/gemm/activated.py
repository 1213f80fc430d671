"""y = act(x @ Wᵀ + b) + residual: the linear layer of a transformer block with everything around it in the epilogue."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_tanh(x):
    """The tanh form of GELU, as GPT-2 has it; tanh by the sigmoid, which every Triton knows."""
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return x * tl.sigmoid(2.0 * inner)


@triton.jit
def leaky_relu(x, slope=0.01):
    return tl.where(x >= 0, x, slope * x)


def _configs():
    return [
        triton.Config({"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": 64, "GROUP_M": 8}, num_stages=s, num_warps=w)
        for bm, bn, s, w in ((128, 256, 3, 8), (128, 128, 4, 8), (64, 128, 4, 4))
    ]


@triton.autotune(configs=_configs(), key=["M", "N", "K"])
@triton.jit
def linear_act_kernel(
    X, W, B, R, Y,
    M, N, K,
    stride_xm, stride_wn, stride_rm, stride_ym,
    ACTIVATION: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    # Neighbouring programs share rows of x, so that they find them in L2.
    pid = tl.program_id(axis=0)
    num_m = tl.cdiv(M, BLOCK_M)
    num_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * num_n
    group_id = pid // in_group
    first_m = group_id * GROUP_M
    group_m = min(num_m - first_m, GROUP_M)
    pid_m = first_m + ((pid % in_group) % group_m)
    pid_n = (pid % in_group) // group_m

    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = X + rm[:, None] * stride_xm + rk[None, :]
    w_ptrs = W + rn[None, :] * stride_wn + rk[:, None]  # nn.Linear keeps (N, K)

    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=(rm < M)[:, None] & (rk < K - k)[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=(rn < N)[None, :] & (rk < K - k)[:, None], other=0.0)
        acc += tl.dot(x, w)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K

    if HAS_BIAS:
        bias = tl.load(B + rn, mask=rn < N, other=0.0).to(tl.float32)
        acc += bias[None, :]
    if ACTIVATION == "gelu":
        acc = gelu_tanh(acc)
    elif ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    elif ACTIVATION == "silu":
        acc = acc * tl.sigmoid(acc)

    inside = (rm < M)[:, None] & (rn < N)[None, :]
    if HAS_RESIDUAL:
        acc += tl.load(R + rm[:, None] * stride_rm + rn[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(Y + rm[:, None] * stride_ym + rn[None, :], acc.to(Y.dtype.element_ty), mask=inside)


def linear_act(x, weight, bias=None, residual=None, activation=""):
    """x: (M, K), weight: (N, K) as in torch.nn.Linear, bias: (N,), residual: (M, N); returns (M, N)."""
    (M, K), N = x.shape, weight.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)  # noqa: E731
    linear_act_kernel[grid](
        x, weight, bias if bias is not None else x, residual if residual is not None else x, y,
        M, N, K,
        x.stride(0), weight.stride(0), residual.stride(0) if residual is not None else 0, y.stride(0),
        ACTIVATION=activation,
        HAS_BIAS=bias is not None,
        HAS_RESIDUAL=residual is not None,
    )  # fmt: skip
    return y
