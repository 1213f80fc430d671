# A row at a time: there is no tile of two axes for the TMA.
# flags: --tier descriptors
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < N) * 2, mask=i < N)
# declined: TLX319 at 0
