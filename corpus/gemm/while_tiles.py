"""C = A @ B where each program takes a stretch of neighbouring tiles in a `while` loop."""

import torch
import triton
import triton.language as tl


@triton.jit
def stretch_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c, per_program,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    tile = tl.program_id(0) * per_program
    end = tl.minimum(tile + per_program, tiles)
    while tile < end:
        row = (tile // tiles_n) * BLOCK_M
        col = (tile % tiles_n) * BLOCK_N
        rows = row + tl.arange(0, BLOCK_M)
        cols = col + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        k = 0
        while k < K:
            ks = k + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + rows[:, None] * stride_a + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
            b = tl.load(b_ptr + ks[:, None] * stride_b + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
            acc += tl.dot(a, b)
            k += BLOCK_K
        tl.store(
            c_ptr + rows[:, None] * stride_c + cols[None, :],
            acc.to(c_ptr.dtype.element_ty),
            mask=(rows[:, None] < M) & (cols[None, :] < N),
        )
        tile += 1


def matmul(a, b, per_program=4):
    """(M, K) @ (K, N), rows contiguous."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    tiles = triton.cdiv(M, 128) * triton.cdiv(N, 128)
    stretch_kernel[(triton.cdiv(tiles, per_program),)](
        a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), per_program,
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return c
