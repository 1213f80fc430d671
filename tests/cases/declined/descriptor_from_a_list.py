# Which descriptor is read is only known where one is taken out of several.

import triton
import triton.language as tl


@triton.jit
def kernel(a_desc, other_desc, b_desc, c_ptr, M, N, K, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if M > N:
        desc = a_desc
    else:
        desc = other_desc
    for k in range(0, K, BLOCK_K):
        a = desc.load([tl.program_id(0) * BLOCK_M, k])
        b = b_desc.load([k, tl.program_id(1) * BLOCK_N])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
# declined: TLX210 at 17
