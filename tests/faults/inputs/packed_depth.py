# A product of rows behind descriptors made in the kernel: their stride is the number of columns, whatever that is.

import triton
import triton.language as tl


@triton.jit
def packed_depth_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([col, k]).T, acc)
    rows, cols = row + tl.arange(0, BLOCK_M), col + tl.arange(0, BLOCK_N)
    out = c_ptr + rows[:, None] * N + cols[None, :]
    tl.store(out, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def packed_depth(a, b, c):
    (m, k), n = a.shape, b.shape[0]
    grid = (triton.cdiv(m, 128), triton.cdiv(n, 64))
    packed_depth_kernel[grid](a, b, c, m, n, k, BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, num_warps=8)
