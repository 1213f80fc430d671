# A loop that asks for warp specialization and only loads and adds: nothing in it is for the tensor cores.

import triton
import triton.language as tl


@triton.jit
def column_sum_kernel(x_ptr, y_ptr, M, N, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for first in tl.range(0, M, BLOCK_M, warp_specialize=True):
        rows = first + tl.arange(0, BLOCK_M)
        x = tl.load(
            x_ptr + rows[:, None] * stride + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0
        )
        total += tl.sum(x.to(tl.float32), 0)
    tl.store(y_ptr + cols, total, mask=cols < N)
