# A scale for every row, or one for all of them: `SCALES` is a tile's rows or 1, and rows are divided between groups.

import triton
import triton.language as tl


@triton.jit
def hostile_kernel(
    a_ptr, b_ptr, s_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BY_ROW: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    if BY_ROW:
        SCALES: tl.constexpr = BLOCK_M
    else:
        SCALES: tl.constexpr = 1
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        ks = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + ks[None, :], mask=(offs_m[:, None] < M) & (ks[None, :] < K), other=0.0)
        b = tl.load(b_ptr + ks[:, None] * stride_bk + offs_n[None, :], mask=(ks[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    offs_s = tl.arange(0, SCALES) + (SCALES > 1) * tl.program_id(0) * BLOCK_M
    scale = tl.load(s_ptr + offs_s, mask=offs_s < M, other=0.0)
    acc *= scale[:, None].broadcast_to((BLOCK_M, 1))
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
# output
