"""What the fork's packed helpers compute; there they are inline assembly, which is not simulated."""

import triton
import triton.language as tl


@triton.jit
def _mul_f32x2(a, b):
    return a * b


@triton.jit
def _sub_f32x2(a, b):
    return a - b


@triton.jit
def _fma_f32x2(a, b, c):
    return a * b + c


@triton.jit
def _reduce_fadd2(p0a, p1a, p0b, p1b):
    return p0a + p0b, p1a + p1b


@triton.jit
def tanh_approx_fp32(x):
    return 2 * tl.sigmoid(2 * x) - 1
