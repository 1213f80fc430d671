# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


@triton.jit
def twice(x): y = x + x; return tl.dot(y, x)


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK); offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.load(a_ptr + offsets); x = twice(x); x = x + 1.0  # three in a line
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, x)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK); offsets = at[:, None] * BLOCK + at[None, :]
    # three in a line
    x = tl.load(a_ptr + offsets)
    y = x + x
    x = tl.dot(y, x)
    x = x + 1.0
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, x)
