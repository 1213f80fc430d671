# Experts take rows of the activations through an index table and their own weights through a descriptor.

import triton
import triton.language as tl


@triton.jit
def gathered_kernel(
    x_ptr, w_ptr, y_ptr, index_ptr, T, N, K, ldx, ldy,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    slots = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.program_id(1) * BLOCK_N
    w_desc = tl.make_tensor_descriptor(w_ptr, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    rows = tl.load(index_ptr + slots, mask=slots < T, other=0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + rows[:, None] * ldx + depth[None, :], mask=(slots[:, None] < T) & (depth[None, :] < K), other=0.0
        )
        acc = tl.dot(x, w_desc.load([col, k]).T, acc)
    cols = col + tl.arange(0, BLOCK_N)
    out = y_ptr + slots[:, None] * ldy + cols[None, :]
    tl.store(out, acc.to(y_ptr.dtype.element_ty), mask=(slots[:, None] < T) & (cols[None, :] < N))


def gathered(x, w, y, index):
    n, k = w.shape
    grid = (triton.cdiv(index.shape[0], 64), triton.cdiv(n, 64))
    gathered_kernel[grid](
        x, w, y, index, index.shape[0], n, k, x.stride(0), y.stride(0), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32
    )
