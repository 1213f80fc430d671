# Attention over packed sequences: programs beyond the end of their sequence skip the whole loop.

import triton
import triton.language as tl


@triton.jit
def skipping_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lengths_ptr, L, stride_z, stride_l,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    z = tl.program_id(1)
    length = tl.load(lengths_ptr + z)
    if start < length:
        rows, d = start + tl.arange(0, BLOCK_M), tl.arange(0, D)
        q = tl.load(q_ptr + z * stride_z + rows[:, None] * stride_l + d[None, :], mask=rows[:, None] < L, other=0.0)
        acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
        for first in range(0, L, BLOCK_N):
            keys = first + tl.arange(0, BLOCK_N)
            k = tl.load(k_ptr + z * stride_z + keys[:, None] * stride_l + d[None, :], mask=keys[:, None] < L, other=0.0)
            v = tl.load(v_ptr + z * stride_z + keys[:, None] * stride_l + d[None, :], mask=keys[:, None] < L, other=0.0)
            weights = tl.where(keys[None, :] < length, tl.dot(q, tl.trans(k)), 0.0)
            acc += tl.dot(weights.to(v.dtype), v)
        out = o_ptr + z * stride_z + rows[:, None] * stride_l + d[None, :]
        tl.store(out, acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < L)


def skip(q, k, v, o, lengths):
    batch, length, width = q.shape
    skipping_kernel[(triton.cdiv(length, 64), batch)](
        q, k, v, o, lengths, length, q.stride(0), q.stride(1), BLOCK_M=64, BLOCK_N=64, D=width
    )
