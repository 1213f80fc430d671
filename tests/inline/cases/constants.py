# launch: {"grid": [2], "args": {"a_ptr": 2048, "b_ptr": 1024, "c_ptr": 1024, "K": 64}, "constexprs": {"BLOCK": 16}}

import triton
import triton.language as tl


# Compile-time constants: declared by the helper, made of constants by the call, and a tuple of them.
@triton.jit
def accumulate(a_ptr, b_ptr, shape: tl.constexpr, K, BLOCK: tl.constexpr, WIDTH, dtype: tl.constexpr):
    HALF: tl.constexpr = BLOCK // 2
    acc = tl.zeros(shape, dtype=dtype)
    at = tl.arange(0, BLOCK)
    wide = tl.arange(0, WIDTH)
    for k in range(0, K, HALF * 2):
        a = tl.load(a_ptr + at[:, None] * K + k + wide[None, :])
        b = tl.load(b_ptr + (k + wide)[:, None] * BLOCK + at[None, :])
        acc = tl.dot(a, b, acc)
    return acc.to(a_ptr.dtype.element_ty)


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    HALF: tl.constexpr = BLOCK * 2
    acc = accumulate(a_ptr + tl.program_id(0) * BLOCK * K, b_ptr, (BLOCK, BLOCK), K, BLOCK, HALF // 2, tl.float32)
    acc += accumulate(a_ptr, b_ptr, (BLOCK, BLOCK), K, BLOCK, HALF // 2, c_ptr.dtype.element_ty)
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + at[:, None] * BLOCK + at[None, :], acc)
# output
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    HALF: tl.constexpr = BLOCK * 2
    a_ptr_1 = a_ptr + tl.program_id(0) * BLOCK * K
    WIDTH: tl.constexpr = HALF // 2
    HALF_1: tl.constexpr = BLOCK // 2
    acc_1 = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    at_1 = tl.arange(0, BLOCK)
    wide = tl.arange(0, WIDTH)
    for k in range(0, K, HALF_1 * 2):
        a = tl.load(a_ptr_1 + at_1[:, None] * K + k + wide[None, :])
        b = tl.load(b_ptr + (k + wide)[:, None] * BLOCK + at_1[None, :])
        acc_1 = tl.dot(a, b, acc_1)
    acc = acc_1.to(a_ptr_1.dtype.element_ty)
    WIDTH_2: tl.constexpr = HALF // 2
    HALF_2: tl.constexpr = BLOCK // 2
    acc_2 = tl.zeros((BLOCK, BLOCK), dtype=c_ptr.dtype.element_ty)
    at_2 = tl.arange(0, BLOCK)
    wide_2 = tl.arange(0, WIDTH_2)
    for k_2 in range(0, K, HALF_2 * 2):
        a_2 = tl.load(a_ptr + at_2[:, None] * K + k_2 + wide_2[None, :])
        b_2 = tl.load(b_ptr + (k_2 + wide_2)[:, None] * BLOCK + at_2[None, :])
        acc_2 = tl.dot(a_2, b_2, acc_2)
    acc += acc_2.to(a_ptr.dtype.element_ty)
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + tl.program_id(0) * BLOCK * BLOCK + at[:, None] * BLOCK + at[None, :], acc)
