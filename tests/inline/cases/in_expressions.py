# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


@triton.jit
def product(x, y):
    scaled = x * 0.25
    return tl.dot(scaled, y)


@triton.jit
def offset(BLOCK: tl.constexpr):
    return tl.program_id(0) * BLOCK * BLOCK


@triton.jit
def larger(x, y, FIRST: tl.constexpr):
    if FIRST:
        return tl.dot(x, y)
    return tl.dot(y, x) - 1.0


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, BOTH: tl.constexpr = True):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x, y = tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)
    z = product(x, y) * 2 + product(y, product(x, x))
    z += product(z, x)
    z = product(z, y) if BOTH else z  # one side only
    w = 1 - larger(x, y, BOTH)
    if offset(BLOCK) == 0: w = w * 2; z = z + product(w, x)
    elif offset(BLOCK) == 1:
        w = w * 3
    tl.store(c_ptr + offset(BLOCK) + offsets, z - w)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, BOTH: tl.constexpr = True):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    x, y = tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)
    scaled = x * 0.25
    product_value = tl.dot(scaled, y)
    scaled_1 = x * 0.25
    product_value_1 = tl.dot(scaled_1, x)
    scaled_2 = y * 0.25
    z = product_value * 2 + tl.dot(scaled_2, product_value_1)
    scaled_3 = z * 0.25
    z += tl.dot(scaled_3, x)
    # one side only
    if BOTH:
        scaled_4 = z * 0.25
        z = tl.dot(scaled_4, y)
    if BOTH:
        larger_value = tl.dot(x, y)
    else:
        larger_value = tl.dot(y, x) - 1.0
    w = 1 - larger_value
    if (tl.program_id(0) * BLOCK * BLOCK) == 0:
        w = w * 2
        scaled_5 = w * 0.25
        z = z + tl.dot(scaled_5, x)
    elif (tl.program_id(0) * BLOCK * BLOCK) == 1:
        w = w * 3
    tl.store(c_ptr + (tl.program_id(0) * BLOCK * BLOCK) + offsets, z - w)
