"""softmax(Q Kᵀ) itself: one pass over the keys finds each row's maximum and sum, a second writes the probabilities."""

import torch
import triton
import triton.language as tl


@triton.jit
def probabilities_kernel(
    q_ptr, k_ptr, p_ptr, scale, M, N,
    stride_qh, stride_qm, stride_kh, stride_kn, stride_ph, stride_pm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    h = tl.program_id(1)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + h * stride_qh + m[:, None] * stride_qm + d[None, :], mask=m[:, None] < M, other=0.0)
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + h * stride_kh + n[None, :] * stride_kn + d[:, None], mask=n[None, :] < N, other=0.0)
        s = tl.dot(q, k)
        s = tl.where(n[None, :] < N, s * scale, float("-inf"))
        best = tl.maximum(top, tl.max(s, 1))
        total = total * tl.exp(top - best) + tl.sum(tl.exp(s - best[:, None]), 1)
        top = best
    for start in range(0, N, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + h * stride_kh + n[None, :] * stride_kn + d[:, None], mask=n[None, :] < N, other=0.0)
        s = tl.dot(q, k)
        p = tl.exp(s * scale - top[:, None]) / total[:, None]
        at = p_ptr + h * stride_ph + m[:, None] * stride_pm + n[None, :]
        tl.store(at, p.to(p_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def probabilities(q, k, scale):
    """q: (H, M, D), k: (H, N, D); returns (H, M, N)."""
    (H, M, D), N = q.shape, k.shape[1]
    p = torch.empty((H, M, N), device=q.device, dtype=q.dtype)
    probabilities_kernel[(triton.cdiv(M, 128), H)](
        q, k, p, scale, M, N, *q.stride()[:2], *k.stride()[:2], *p.stride()[:2],
        BLOCK_M=128, BLOCK_N=64, D=D, num_warps=8, num_stages=3,
    )  # fmt: skip
    return p
