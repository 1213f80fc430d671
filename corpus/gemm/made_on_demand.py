"""A kernel that a function makes when it is first asked for: it reads a literal of that function, and nothing else."""

import torch


def make_matmul():
    """The launcher of the kernel; Triton is imported here and nowhere else."""
    import triton
    import triton.language as tl

    GROUP: tl.constexpr = tl.constexpr(4)

    @triton.jit
    def grouped_kernel(
        a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
        BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    ):  # fmt: skip
        pid = tl.program_id(0)
        rows_of_tiles, columns_of_tiles = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
        # Tiles are walked in bands of GROUP rows, so that what of B is in the L2 serves all of them.
        band = pid // (GROUP * columns_of_tiles)
        height = min(rows_of_tiles - band * GROUP, GROUP)
        row = band * GROUP + (pid % (GROUP * columns_of_tiles)) % height
        column = (pid % (GROUP * columns_of_tiles)) // height
        rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            depth = start + tl.arange(0, BLOCK_K)
            inside = depth < K
            a_tile = a_ptr + rows[:, None] * stride_am + depth[None, :]
            b_tile = b_ptr + depth[:, None] * stride_bk + columns[None, :]
            a = tl.load(a_tile, mask=(rows < M)[:, None] & inside[None, :], other=0.0)
            b = tl.load(b_tile, mask=inside[:, None] & (columns < N)[None, :], other=0.0)
            acc = tl.dot(a, b, acc)
        c_tile = c_ptr + rows[:, None] * stride_cm + columns[None, :]
        tl.store(c_tile, acc.to(c_ptr.dtype.element_ty), mask=(rows < M)[:, None] & (columns < N)[None, :])

    def matmul(a, b):
        """(M, K) @ (K, N), rows contiguous."""
        (M, K), N = a.shape, b.shape[1]
        c = torch.empty((M, N), device=a.device, dtype=a.dtype)
        tiles = (triton.cdiv(M, 128) * triton.cdiv(N, 128),)
        strides = (a.stride(0), b.stride(0), c.stride(0))
        grouped_kernel[tiles](a, b, c, M, N, K, *strides, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8)
        return c

    return matmul
