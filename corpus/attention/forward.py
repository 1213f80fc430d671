"""Softmax(Q Kᵀ · scale) V for each batch and head, over all keys, by the online softmax."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128}, num_warps=8, num_stages=2),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=4, num_stages=3),
    ],
    key=["Q_LEN", "K_LEN"],
)
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr,
    stride_qb, stride_qh, stride_qm,
    stride_kb, stride_kh, stride_kn,
    stride_vb, stride_vh, stride_vn,
    stride_ob, stride_oh, stride_om,
    HEADS, Q_LEN, K_LEN, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
):  # fmt: skip
    """out[b, h] = softmax(q[b, h] @ k[b, h]ᵀ · scale) @ v[b, h]; lse holds log2 of the denominators."""
    start_m = tl.program_id(0)
    batch = tl.program_id(1) // HEADS
    head = tl.program_id(1) % HEADS
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)

    # The rows of Q stay where they are while all keys pass by.
    q_ptrs = q_ptr + batch * stride_qb + head * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :]
    q = tl.load(q_ptrs, mask=offs_m[:, None] < Q_LEN, other=0.0)
    k_ptrs = k_ptr + batch * stride_kb + head * stride_kh + offs_n[None, :] * stride_kn + offs_d[:, None]
    v_ptrs = v_ptr + batch * stride_vb + head * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :]

    row_max = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    row_sum = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start_n in range(0, K_LEN, BLOCK_N):
        k = tl.load(k_ptrs + start_n * stride_kn, mask=(start_n + offs_n)[None, :] < K_LEN, other=0.0)
        scores = tl.dot(q, k)
        # Keys past the end count for nothing.
        scores = tl.where((start_n + offs_n)[None, :] < K_LEN, scores * scale, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        p = tl.exp2(scores - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(p, 1)
        v = tl.load(v_ptrs + start_n * stride_vn, mask=(start_n + offs_n)[:, None] < K_LEN, other=0.0)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v)
        row_max = new_max

    acc = acc / row_sum[:, None]
    tl.store(lse_ptr + tl.program_id(1) * Q_LEN + offs_m, row_max + tl.log2(row_sum), mask=offs_m < Q_LEN)
    out_ptrs = out_ptr + batch * stride_ob + head * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :]
    tl.store(out_ptrs, acc.to(out_ptr.dtype.element_ty), mask=offs_m[:, None] < Q_LEN)


def attention(q, k, v):
    """Attention of (batch, heads, length, head_dim) tensors; returns the output and the log-sum-exp in base 2."""
    batch, heads, q_len, head_dim = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((batch, heads, q_len), device=q.device, dtype=torch.float32)
    scale = head_dim**-0.5 * 1.4426950408889634
    grid = lambda meta: (triton.cdiv(q_len, meta["BLOCK_M"]), batch * heads)  # noqa: E731
    attention_kernel[grid](
        q, k, v, out, lse,
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        v.stride(0), v.stride(1), v.stride(2),
        out.stride(0), out.stride(1), out.stride(2),
        heads, q_len, k.shape[2], scale,
        HEAD_DIM=head_dim,
    )  # fmt: skip
    return out, lse
