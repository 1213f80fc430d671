# The second operand is added up as well, and its statement binds another tile besides: nothing can stand in its place.

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    norm = tl.zeros((BN,), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        am = (rows[:, None] < M) & (ks[None, :] < K)
        bm = (ks[:, None] < K) & (cols[None, :] < N)
        a, b = tl.load(a_ptr + rows[:, None] * sa + ks[None, :], mask=am, other=0.0), tl.load(b_ptr + ks[:, None] * sb + cols[None, :], mask=bm, other=0.0)
        norm += tl.sum(b.to(tl.float32), axis=0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * sc + cols[None, :], (acc + norm[None, :]).to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
# declined: TLX313 at 18
