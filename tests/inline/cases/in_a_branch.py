# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


# Called under a condition of the launch, and in a loop that the helper knows nothing of.
@triton.jit
def add_tile(acc, a_ptr, b_ptr, offsets, weight):
    if weight > 1:
        weight = weight - 1
    product = tl.dot(tl.load(a_ptr + offsets), tl.load(b_ptr + offsets))
    acc = acc + product * weight
    return acc


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    weight = K // BLOCK
    for k in range(0, weight):
        if k != 1:
            acc = add_tile(acc, a_ptr + k * BLOCK, b_ptr, offsets, weight)
        else:
            acc = add_tile(acc, a_ptr, b_ptr, offsets, 1)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, acc + weight)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * BLOCK + at[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    weight = K // BLOCK
    for k in range(0, weight):
        if k != 1:
            a_ptr_1 = a_ptr + k * BLOCK
            weight_1 = weight
            if weight_1 > 1:
                weight_1 = weight_1 - 1
            product = tl.dot(tl.load(a_ptr_1 + offsets), tl.load(b_ptr + offsets))
            acc = acc + product * weight_1
        else:
            weight_2 = 1
            if weight_2 > 1:
                weight_2 = weight_2 - 1
            product_2 = tl.dot(tl.load(a_ptr + offsets), tl.load(b_ptr + offsets))
            acc = acc + product_2 * weight_2
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + offsets, acc + weight)
