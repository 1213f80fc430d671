"""silu(x @ W1) · (x @ W3): the gated half of a Llama MLP, two dots that share their first operand."""

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
def swiglu_kernel(
    x_ptr, w1_ptr, w3_ptr, out_ptr,
    M, N, K,
    stride_xm, stride_xk,
    stride_w1k, stride_w1n,
    stride_w3k, stride_w3n,
    stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + (offs_m[:, None] % M) * stride_xm + offs_k[None, :] * stride_xk
    w1_ptrs = w1_ptr + offs_k[:, None] * stride_w1k + (offs_n[None, :] % N) * stride_w1n
    w3_ptrs = w3_ptr + offs_k[:, None] * stride_w3k + (offs_n[None, :] % N) * stride_w3n

    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        k_remaining = K - k * BLOCK_K
        x = tl.load(x_ptrs, mask=offs_k[None, :] < k_remaining, other=0.0)
        w1 = tl.load(w1_ptrs, mask=offs_k[:, None] < k_remaining, other=0.0)
        w3 = tl.load(w3_ptrs, mask=offs_k[:, None] < k_remaining, other=0.0)
        gate = tl.dot(x, w1, acc=gate)
        up = tl.dot(x, w3, acc=up)
        x_ptrs += BLOCK_K * stride_xk
        w1_ptrs += BLOCK_K * stride_w1k
        w3_ptrs += BLOCK_K * stride_w3k

    gate = gate * tl.sigmoid(gate)
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    tl.store(out_ptrs, (gate * up).to(out_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def swiglu(x, w1, w3):
    """x: (M, K), w1 and w3: (K, N)."""
    (M, K), N = x.shape, w1.shape[1]
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))  # noqa: E731
    swiglu_kernel[grid](
        x, w1, w3, out, M, N, K,
        x.stride(0), x.stride(1), w1.stride(0), w1.stride(1), w3.stride(0), w3.stride(1), out.stride(0), out.stride(1),
    )  # fmt: skip
    return out
