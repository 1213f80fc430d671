# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


@triton.jit
def step(acc, a_ptr, b_ptr, k, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK) + k
    at = rows - k
    a_ptr += at[:, None] * K + rows[None, :]
    b_ptr = b_ptr + rows[:, None] * BLOCK + at[None, :]
    k = tl.dot(tl.load(a_ptr), tl.load(b_ptr))
    acc += k
    return acc, k


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK
    at = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    last = acc
    for k in range(0, K, BLOCK):
        acc, last = step(acc, a_ptr + rows * K, b_ptr, k, K, BLOCK)
        acc += k
    total, last = step(acc, a_ptr, b_ptr, 0, K, BLOCK)
    tl.store(c_ptr + (rows + at)[:, None] * BLOCK + at[None, :], acc + last + total)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK
    at = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    last = acc
    for k in range(0, K, BLOCK):
        a_ptr_1 = a_ptr + rows * K
        b_ptr_1 = b_ptr
        k_1 = k
        rows_1 = tl.arange(0, BLOCK) + k_1
        at_1 = rows_1 - k_1
        a_ptr_1 += at_1[:, None] * K + rows_1[None, :]
        b_ptr_1 = b_ptr_1 + rows_1[:, None] * BLOCK + at_1[None, :]
        k_1 = tl.dot(tl.load(a_ptr_1), tl.load(b_ptr_1))
        acc += k_1
        last = k_1
        acc += k
    total = acc
    a_ptr_2 = a_ptr
    b_ptr_2 = b_ptr
    k_2 = 0
    rows_2 = tl.arange(0, BLOCK) + k_2
    at_2 = rows_2 - k_2
    a_ptr_2 += at_2[:, None] * K + rows_2[None, :]
    b_ptr_2 = b_ptr_2 + rows_2[:, None] * BLOCK + at_2[None, :]
    k_2 = tl.dot(tl.load(a_ptr_2), tl.load(b_ptr_2))
    total += k_2
    last = k_2
    tl.store(c_ptr + (rows + at)[:, None] * BLOCK + at[None, :], acc + last + total)
