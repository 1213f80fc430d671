# One half of each row gates the other: no tensor cores in sight.

import triton
import triton.language as tl


@triton.jit
def gated_kernel(x_ptr, y_ptr, N, stride_x, stride_y, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, N, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        gate = tl.load(x_ptr + row * stride_x + cols, mask=cols < N, other=0.0).to(tl.float32)
        up = tl.load(x_ptr + row * stride_x + N + cols, mask=cols < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * stride_y + cols, gate * tl.sigmoid(gate) * up, mask=cols < N)
