# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


# A short loop around a dot is written out; a long one, and one without a dot, stays.
@triton.jit
def part(acc, a_ptr, b_ptr, K, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    # one part after another
    for i in tl.static_range(PARTS):
        a = tl.load(a_ptr + at[:, None] * K + i * BLOCK + at[None, :])
        if i == 1:
            a = a * 2.0
        acc = tl.dot(a, tl.load(b_ptr + i * BLOCK * BLOCK + at[:, None] * BLOCK + at[None, :]), acc)
    return acc


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, PARTS: tl.constexpr = 2):
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for j in tl.static_range(2):
        acc += j
    acc = part(acc, a_ptr + tl.program_id(0), b_ptr, K, BLOCK, 2)
    acc = part(acc, a_ptr, b_ptr, K, BLOCK, PARTS)
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + at[:, None] * BLOCK + at[None, :], acc)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, PARTS: tl.constexpr = 2):
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for j in tl.static_range(2):
        acc += j
    a_ptr_1 = a_ptr + tl.program_id(0)
    at_1 = tl.arange(0, BLOCK)
    # one part after another
    a = tl.load(a_ptr_1 + at_1[:, None] * K + 0 * BLOCK + at_1[None, :])
    acc = tl.dot(a, tl.load(b_ptr + 0 * BLOCK * BLOCK + at_1[:, None] * BLOCK + at_1[None, :]), acc)
    a = tl.load(a_ptr_1 + at_1[:, None] * K + 1 * BLOCK + at_1[None, :])
    a = a * 2.0
    acc = tl.dot(a, tl.load(b_ptr + 1 * BLOCK * BLOCK + at_1[:, None] * BLOCK + at_1[None, :]), acc)
    at_2 = tl.arange(0, BLOCK)
    # one part after another
    for i_2 in tl.static_range(PARTS):
        a_2 = tl.load(a_ptr + at_2[:, None] * K + i_2 * BLOCK + at_2[None, :])
        if i_2 == 1:
            a_2 = a_2 * 2.0
        acc = tl.dot(a_2, tl.load(b_ptr + i_2 * BLOCK * BLOCK + at_2[:, None] * BLOCK + at_2[None, :]), acc)
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + at[:, None] * BLOCK + at[None, :], acc)
