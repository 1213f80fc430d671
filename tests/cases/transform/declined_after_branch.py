# The first product decides whether the second operand is scaled, though its result is no part of it.

import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, w_ptr, c_ptr, M, N, K, stride_am, stride_wk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_m, in_n = offs_m[:, None] < M, offs_n[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        ks = k * BLOCK_K + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + ks[None, :], mask=in_m & (ks[None, :] < K), other=0.0)
        w = tl.load(w_ptr + ks[:, None] * stride_wk + offs_n[None, :], mask=in_n & (ks[:, None] < K), other=0)
        b = w.to(a.dtype)
        if tl.max(tl.max(acc, axis=1), axis=0) > 0.0:
            b = (w * 2).to(a.dtype)
        acc = tl.dot(a, b, acc)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=in_m & in_n)
# declined: TLX305 at 23
