# Descriptors made anew in every trip of the loop that loads through them, at one to five stages.

import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=stages)
        for stages in (1, 2, 3, 4, 5)
    ],
    key=["M", "N", "K"],
)
@triton.jit
def anew_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [lda, 1], [BLOCK_M, BLOCK_K])
        b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [ldb, 1], [BLOCK_K, BLOCK_N])
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, col]), acc)
    rows, cols = row + tl.arange(0, BLOCK_M), col + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def anew(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    grid = lambda meta: (triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"]))  # noqa: E731
    anew_kernel[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0))
