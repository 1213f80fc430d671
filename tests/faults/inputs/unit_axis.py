# Packed sequences behind descriptors of three axes, whose middle one, the head, is a single element of the box.

import triton
import triton.language as tl


@triton.jit
def packed_kernel(
    q_ptr, k_ptr, o_ptr, T, H, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    q_desc = tl.make_tensor_descriptor(q_ptr, [T, H, D], [H * D, D, 1], [BLOCK_M, 1, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [T, H, D], [H * D, D, 1], [BLOCK_N, 1, D])
    q = q_desc.load([start, head, 0]).reshape(BLOCK_M, D)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    for first in range(0, T, BLOCK_N):
        k = k_desc.load([first, head, 0]).reshape(BLOCK_N, D)
        weights = tl.dot(q, k.T)
        acc += tl.dot(weights.to(k.dtype), k)
    rows = start + tl.arange(0, BLOCK_M)
    out = o_ptr + rows[:, None] * (H * D) + head * D + tl.arange(0, D)[None, :]
    tl.store(out, acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < T)


def packed(q, k, o):
    tokens, heads, width = q.shape
    packed_kernel[(triton.cdiv(tokens, 64), heads)](q, k, o, tokens, heads, BLOCK_M=64, BLOCK_N=64, D=width)
