# Causal attention in two loops over descriptors: whole tiles before the diagonal, then those that it cuts.

import triton
import triton.language as tl


@triton.jit
def causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, H, L, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    rows = H * L
    q_desc = tl.make_tensor_descriptor(q_ptr, [rows, D], [D, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [rows, D], [D, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [rows, D], [D, 1], [BLOCK_N, D])
    own = start + tl.arange(0, BLOCK_M)
    q = q_desc.load([head * L + start, 0])
    most = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for first in tl.range(0, start, BLOCK_N, warp_specialize=True):
        k = k_desc.load([head * L + first, 0])
        scores = tl.dot(q, k.T) * scale
        highest = tl.maximum(most, tl.max(scores, 1))
        share = tl.math.exp2(scores - highest[:, None])
        fade = tl.math.exp2(most - highest)
        total = total * fade + tl.sum(share, 1)
        acc = acc * fade[:, None]
        v = v_desc.load([head * L + first, 0])
        acc = tl.dot(share.to(v.dtype), v, acc)
        most = highest
    for first in tl.range(start, start + BLOCK_M, BLOCK_N, warp_specialize=True):
        keys = first + tl.arange(0, BLOCK_N)
        k = k_desc.load([head * L + first, 0])
        scores = tl.dot(q, k.T) * scale
        scores = tl.where(own[:, None] >= keys[None, :], scores, float("-inf"))
        highest = tl.maximum(most, tl.max(scores, 1))
        share = tl.math.exp2(scores - highest[:, None])
        fade = tl.math.exp2(most - highest)
        total = total * fade + tl.sum(share, 1)
        acc = acc * fade[:, None]
        v = v_desc.load([head * L + first, 0])
        acc = tl.dot(share.to(v.dtype), v, acc)
        most = highest
    out = o_ptr + (head * L + own)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out, (acc / total[:, None]).to(o_ptr.dtype.element_ty), mask=own[:, None] < L)


def causal(q, k, v, o):
    heads, length, width = q.shape
    causal_kernel[(triton.cdiv(length, 128), heads)](
        q, k, v, o, heads, length, 0.125, BLOCK_M=128, BLOCK_N=64, D=width, num_warps=8, num_stages=2
    )
