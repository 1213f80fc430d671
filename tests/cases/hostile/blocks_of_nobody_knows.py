# A descriptor of the caller's whose blocks are as long as nothing here says: the tiles it brings are not known.

import triton
import triton.language as tl


@triton.jit
def hostile_kernel(
    a_desc, b_desc, c_ptr, M, N, K, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([tl.program_id(0) * BLOCK_M, k])
        b = b_desc.load([k, tl.program_id(1) * BLOCK_N])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
# declined: TLX210 at 15
