# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


# What a call gives back in another order than it took it is exchanged at once.
@triton.jit
def exchange(x, y, ptr):
    x = x + tl.dot(x, y)
    y = y * 2.0
    return y, x


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.load(a_ptr + offsets)
    y = tl.load(b_ptr + offsets)
    x, y = exchange(x, y, a_ptr)
    y, x = exchange(x, x, a_ptr)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, x - y)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.load(a_ptr + offsets)
    y = tl.load(b_ptr + offsets)
    x = x + tl.dot(x, y)
    y = y * 2.0
    x, y = y, x
    x_1 = x
    y = x
    x_1 = x_1 + tl.dot(x_1, y)
    y = y * 2.0
    x = x_1
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, x - y)
