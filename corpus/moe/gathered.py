"""The fused MoE GEMM: token ids sorted by expert are loaded, and the rows of A they name are gathered."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=4, num_stages=4)],
    key=["N", "K"],
)
@triton.jit
def fused_moe_kernel(
    a_ptr, b_ptr, c_ptr, topk_weights_ptr, sorted_ids_ptr, expert_ids_ptr, num_padded_ptr,
    N, K, num_valid,
    stride_am, stride_ak, stride_be, stride_bk, stride_bn, stride_cm, stride_cn,
    top_k: tl.constexpr, MUL_WEIGHT: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    padded = tl.load(num_padded_ptr)
    tiles_m = tl.cdiv(padded, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    width = GROUP_M * tiles_n
    first = (pid // width) * GROUP_M
    size = min(tiles_m - first, GROUP_M)
    pid_m = first + (pid % width) % size
    pid_n = (pid % width) // size
    if pid_m * BLOCK_M >= padded:
        return
    token = tl.load(sorted_ids_ptr + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))
    valid = token < num_valid
    expert = tl.load(expert_ids_ptr + pid_m)
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (token[:, None] // top_k) * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + expert * stride_be + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=valid[:, None] & (offs_k[None, :] < K - k * BLOCK_K), other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if MUL_WEIGHT:
        acc *= tl.load(topk_weights_ptr + token, mask=valid, other=0.0)[:, None]
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + token[:, None] * stride_cm + offs_cn[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=valid[:, None] & (offs_cn[None, :] < N))


def fused_moe(a, w, weights, sorted_ids, expert_ids, num_padded, top_k):
    """a: (tokens, K), w: (experts, N, K); ids as the aligning kernel makes them; returns (tokens · top_k, N)."""
    N = w.shape[1]
    c = torch.empty((a.shape[0] * top_k, N), device=a.device, dtype=a.dtype)
    grid = lambda meta: (  # noqa: E731
        triton.cdiv(sorted_ids.numel(), meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
    )
    fused_moe_kernel[grid](
        a, w, c, weights, sorted_ids, expert_ids, num_padded, N, a.shape[1], a.shape[0] * top_k,
        a.stride(0), a.stride(1), w.stride(0), w.stride(2), w.stride(1), c.stride(0), c.stride(1),
        top_k=top_k, MUL_WEIGHT=True,
    )  # fmt: skip
    return c
