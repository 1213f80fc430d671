# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


# A helper that gives nothing may leave early, also from inside of nested branches.
@triton.jit
def finish(ptr, value, offsets, K):
    if K == 0:
        return
    if K > 8:
        if tl.program_id(0) == 1:
            tl.store(ptr + offsets, value * 3.0)
            return
        value += 1.0
    # all others
    tl.store(ptr + offsets, value)


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.dot(tl.load(a_ptr + offsets), tl.load(b_ptr + offsets))
    finish(c_ptr + tl.program_id(0) * BLOCK * BLOCK, x, offsets, K)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x = tl.dot(tl.load(a_ptr + offsets), tl.load(b_ptr + offsets))
    ptr = c_ptr + tl.program_id(0) * BLOCK * BLOCK
    value = x
    if K != 0:
        active = True
        if K > 8:
            if tl.program_id(0) == 1:
                tl.store(ptr + offsets, value * 3.0)
                active = False
            if active:
                value += 1.0
        if active:
            # all others
            tl.store(ptr + offsets, value)
