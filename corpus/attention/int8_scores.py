"""Attention whose scores come from 8-bit Q and K with a scale per tile of each; P·V is added up in fp16, tile by tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def int8_scores_kernel(
    q_ptr, k_ptr, v_ptr, q_scale_ptr, k_scale_ptr, out_ptr, stride_qh, stride_qm, stride_kh, stride_kn,
    stride_vh, stride_vn, stride_oh, stride_om, Q_LEN, K_LEN,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """out[h] = softmax2(q[h] @ k[h]ᵀ · scales) @ v[h], exponents of 2."""
    tile, head = tl.program_id(0), tl.program_id(1)
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    keys, dims = tl.arange(0, BLOCK_N), tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + head * stride_qh + rows[:, None] * stride_qm + dims[None, :], mask=rows[:, None] < Q_LEN)
    q_scale = tl.load(q_scale_ptr + head * tl.cdiv(Q_LEN, BLOCK_M) + tile)
    k_tiles = k_ptr + head * stride_kh + keys[None, :] * stride_kn + dims[:, None]
    v_tiles = v_ptr + head * stride_vh + keys[:, None] * stride_vn + dims[None, :]
    k_scales = k_scale_ptr + head * tl.cdiv(K_LEN, BLOCK_N)
    highest = tl.full([BLOCK_M], -1.0e30, dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start in range(0, K_LEN, BLOCK_N):
        k = tl.load(k_tiles, mask=keys[None, :] < K_LEN - start)
        # Whatever the dtype of Q and K, the product becomes fp32 here: int32 before, or fp32 already.
        scores = tl.dot(q, k).to(tl.float32) * q_scale * tl.load(k_scales)
        scores = tl.where((start + keys)[None, :] < K_LEN, scores, -1.0e30)
        higher = tl.maximum(highest, tl.max(scores, 1))
        p = tl.exp2(scores - higher[:, None])
        fade = tl.exp2(highest - higher)
        total = total * fade + tl.sum(p, 1)
        acc = acc * fade[:, None]
        v = tl.load(v_tiles, mask=keys[:, None] < K_LEN - start)
        acc += tl.dot(p.to(tl.float16), v, out_dtype=tl.float16)
        highest = higher
        k_tiles += BLOCK_N * stride_kn
        v_tiles += BLOCK_N * stride_vn
        k_scales += 1
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + head * stride_oh + rows[:, None] * stride_om + dims[None, :], out, mask=rows[:, None] < Q_LEN)


def int8_scores(q, k, v, q_scale, k_scale):
    """q, k: (heads, length, head_dim) int8 with a scale per 128 and 64 rows; v: fp16; returns fp16."""
    heads, q_len, head_dim = q.shape
    out = torch.empty_like(q, dtype=torch.float16)
    strides = [stride for t in (q, k, v, out) for stride in (t.stride(0), t.stride(1))]
    int8_scores_kernel[(triton.cdiv(q_len, 128), heads)](
        q, k, v, q_scale, k_scale, out, *strides, q_len, k.shape[1],
        HEAD_DIM=head_dim, BLOCK_M=128, BLOCK_N=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return out
