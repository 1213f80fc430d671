# Attention in one loop over descriptors that asks Triton itself for warp specialization.

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, L, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    q_desc = tl.make_tensor_descriptor(q_ptr, [L, D], [D, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [L, D], [D, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [L, D], [D, 1], [BLOCK_N, D])
    own = start + tl.arange(0, BLOCK_M)
    q = q_desc.load([start, 0])
    most = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for first in tl.range(0, L, BLOCK_N, warp_specialize=True):
        keys = first + tl.arange(0, BLOCK_N)
        k = k_desc.load([first, 0])
        scores = tl.dot(q, k.T) * scale
        scores = tl.where(keys[None, :] < L, scores, float("-inf"))
        highest = tl.maximum(most, tl.max(scores, 1))
        share = tl.math.exp2(scores - highest[:, None])
        fade = tl.math.exp2(most - highest)
        total = total * fade + tl.sum(share, 1)
        acc = acc * fade[:, None]
        v = v_desc.load([first, 0])
        acc = tl.dot(share.to(v.dtype), v, acc)
        most = highest
    out = o_ptr + own[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out, (acc / total[:, None]).to(o_ptr.dtype.element_ty), mask=own[:, None] < L)


def attention(q, k, v, o):
    length, width = q.shape
    attention_kernel[(triton.cdiv(length, 64),)](
        q, k, v, o, length, 0.125, BLOCK_M=64, BLOCK_N=64, D=width, num_warps=4, num_stages=2
    )
