# What a kernel reads where it stores is not loaded by the TMA: nothing orders it with the stores.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, M, N, stride_x, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * stride_x + columns[None, :], mask=inside, other=0.0)
    tl.store(x_ptr + rows[:, None] * stride_x + columns[None, :], x * 2, mask=inside)
# declined: TLX321 at 12
