# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


# A helper that is passed on, and one that stays a call.
SCALE = tl.constexpr(0.5)


@triton.jit
def halved(x):
    return x * SCALE


@triton.jit
def squared(x):
    return tl.dot(x, x)


@triton.jit
def apply(x, function: tl.constexpr):
    return function(x) + 1.0


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.load(a_ptr + offsets)
    y = apply(x, squared)
    z = apply(y, halved)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, y + z)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.load(a_ptr + offsets)
    y = tl.dot(x, x) + 1.0
    z = halved(y) + 1.0
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, y + z)
