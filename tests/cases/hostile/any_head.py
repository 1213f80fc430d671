# Which head is read is loaded: how many there are the tensor's own shape says, but not how many programs there are.

import triton
import triton.language as tl


@triton.jit
def hostile_kernel(
    x_ptr, w_ptr, y_ptr, ends_ptr, heads_ptr, N, K, ldx, ldw, ldy,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    end = tl.load(ends_ptr + tl.program_id(2))
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    head = tl.load(heads_ptr + tl.program_id(2))
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x_ptrs = x_ptr + head * K + m[:, None] * ldx + k[None, :]
        x = tl.load(x_ptrs, mask=(m[:, None] < end) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * ldw + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, w)
    tl.store(y_ptr + m[:, None] * ldy + n[None, :], acc.to(tl.float16), mask=(m[:, None] < end) & (n[None, :] < N))
# declined: TLX606 at 0
