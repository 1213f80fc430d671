"""G = X Xᵀ: the result is symmetric, so programs above the diagonal leave, and each of the others writes both halves."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
             triton.Config({"BLOCK": 64, "BLOCK_K": 64}, num_warps=4, num_stages=4)],
    key=["N", "K"],
)  # fmt: skip
@triton.jit
def gram_kernel(x_ptr, g_ptr, N, K, stride_x, stride_g, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    if j > i:
        return
    rows = i * BLOCK + tl.arange(0, BLOCK)
    cols = j * BLOCK + tl.arange(0, BLOCK)
    ks = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = tl.load(x_ptr + rows[:, None] * stride_x + (k + ks)[None, :],
                       mask=(rows[:, None] < N) & ((k + ks)[None, :] < K), other=0.0)  # fmt: skip
        right = tl.load(x_ptr + cols[:, None] * stride_x + (k + ks)[None, :],
                        mask=(cols[:, None] < N) & ((k + ks)[None, :] < K), other=0.0)  # fmt: skip
        acc = tl.dot(left, tl.trans(right), acc)
    value = acc.to(g_ptr.dtype.element_ty)
    tl.store(g_ptr + rows[:, None] * stride_g + cols[None, :], value, mask=(rows[:, None] < N) & (cols[None, :] < N))
    if i != j:
        # The other half, transposed by the addresses.
        tl.store(g_ptr + cols[None, :] * stride_g + rows[:, None], value, mask=(rows[:, None] < N) & (cols[None, :] < N))


def gram(x):
    """x: (N, K) with contiguous rows; returns (N, N)."""
    N, K = x.shape
    g = torch.empty((N, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK"]), triton.cdiv(N, meta["BLOCK"]))  # noqa: E731
    gram_kernel[grid](x, g, N, K, x.stride(0), g.stride(0))
    return g
