# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


# Several returns, each under a condition that is settled when the kernel is compiled.
@triton.jit
def activate(x, KIND: tl.constexpr):
    if KIND == "dot":
        return tl.dot(x, x)
    elif KIND == "half":
        return x * 0.5  # no dot here
    if KIND == "none":
        return x
    y = tl.abs(x)
    return y + 1.0


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, KIND: tl.constexpr = "dot"):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.load(a_ptr + offsets)
    x = activate(x, KIND)
    z = activate(tl.load(b_ptr + offsets), "half")
    z = activate(z, "dot")
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, x - z)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, KIND: tl.constexpr = "dot"):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.load(a_ptr + offsets)
    if KIND == "dot":
        x = tl.dot(x, x)
    elif KIND == "half":
        x = x * 0.5  # no dot here
    elif KIND != "none":
        y = tl.abs(x)
        x = y + 1.0
    x_1 = tl.load(b_ptr + offsets)
    z = x_1 * 0.5  # no dot here
    z = tl.dot(z, z)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, x - z)
