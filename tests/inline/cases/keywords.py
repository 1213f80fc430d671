# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


@triton.jit
def multiply(a_ptr, b_ptr, acc, K, BLOCK: tl.constexpr, SCALE: tl.constexpr = 2.0, *, first=0):
    rows = tl.arange(0, BLOCK)
    for k in range(first, K, BLOCK):
        a = tl.load(a_ptr + rows[:, None] * K + k + rows[None, :])
        b = tl.load(b_ptr + (k + rows)[:, None] * BLOCK + rows[None, :])
        acc += tl.dot(a, b) * SCALE
    return acc


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    acc = multiply(acc=acc, K=K, BLOCK=BLOCK, b_ptr=b_ptr, a_ptr=a_ptr + tl.program_id(0) * BLOCK * K, first=BLOCK)
    acc = multiply(a_ptr, b_ptr, acc, K, BLOCK, SCALE=-0.5)
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + at[:, None] * BLOCK + at[None, :], acc)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    a_ptr_1 = a_ptr + tl.program_id(0) * BLOCK * K
    rows = tl.arange(0, BLOCK)
    for k in range(BLOCK, K, BLOCK):
        a = tl.load(a_ptr_1 + rows[:, None] * K + k + rows[None, :])
        b = tl.load(b_ptr + (k + rows)[:, None] * BLOCK + rows[None, :])
        acc += tl.dot(a, b) * 2.0
    rows_1 = tl.arange(0, BLOCK)
    for k_1 in range(0, K, BLOCK):
        a_1 = tl.load(a_ptr + rows_1[:, None] * K + k_1 + rows_1[None, :])
        b_1 = tl.load(b_ptr + (k_1 + rows_1)[:, None] * BLOCK + rows_1[None, :])
        acc += tl.dot(a_1, b_1) * (-0.5)
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + at[:, None] * BLOCK + at[None, :], acc)
