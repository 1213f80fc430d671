# Like a chunk per head, but how many columns of it count is read from memory: what lies past them is no zero.

import triton
import triton.language as tl


@triton.jit
def hostile_kernel(
    a_ptr, k_ptr, w_ptr, counts_ptr, T, H: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr,
):
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    count = tl.load(counts_ptr + i_bh)
    rows = i_t * BT + tl.arange(0, BT)
    cols = tl.arange(0, BT)
    for start in range(0, D, BK):
        d = start + tl.arange(0, BK)
        inside = (rows[:, None] < T) & (d[None, :] < D)
        a_ptrs = a_ptr + ((i_b * T + rows[:, None]) * H + i_h) * BT + cols[None, :]
        a = tl.load(a_ptrs, mask=(rows[:, None] < T) & (cols[None, :] < count), other=0.0)
        offsets = ((i_b * T + rows[:, None]) * H + i_h) * D + d[None, :]
        k = tl.load(k_ptr + offsets, mask=inside, other=0.0)
        w = tl.dot(a, k)
        tl.store(w_ptr + offsets, w.to(w_ptr.dtype.element_ty), mask=inside)
# declined: TLX211 at 20
