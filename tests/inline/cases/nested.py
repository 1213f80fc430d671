# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


@triton.jit
def tile(ptr, row, column, stride, BLOCK: tl.constexpr):
    rows = row + tl.arange(0, BLOCK)
    columns = column + tl.arange(0, BLOCK)
    return tl.load(ptr + rows[:, None] * stride + columns[None, :])


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)


@triton.jit
def finish(ptr, value, offset, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(ptr + offset + at[:, None] * BLOCK + at[None, :], relu(value))


@triton.jit
def both(a_ptr, b_ptr, row, k, K, BLOCK: tl.constexpr):
    # both operands of one step
    return tile(a_ptr, row, k, K, BLOCK), tile(b_ptr, k, 0, BLOCK, BLOCK)


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        a, b = both(a_ptr, b_ptr, pid * BLOCK, k, K, BLOCK)
        acc = tl.dot(a, b, acc)
    finish(c_ptr, acc, pid * BLOCK * BLOCK, BLOCK)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        row = pid * BLOCK
        # both operands of one step
        rows = row + tl.arange(0, BLOCK)
        columns = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + columns[None, :])
        rows_1 = k + tl.arange(0, BLOCK)
        columns_1 = 0 + tl.arange(0, BLOCK)
        b = tl.load(b_ptr + rows_1[:, None] * BLOCK + columns_1[None, :])
        acc = tl.dot(a, b, acc)
    offset = pid * BLOCK * BLOCK
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + offset + at[:, None] * BLOCK + at[None, :], relu(acc))
