"""Operands that end along the contracted axis where memory says: rows past a group's end are the next group's."""

import triton
import triton.language as tl


@triton.jit
def gradient_kernel(
    x_ptr,
    g_ptr,
    w_ptr,
    ends_ptr,
    ROWS,
    M,
    N,
    ldx,
    ldg,
    ldw,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BR: tl.constexpr,
):
    group = tl.program_id(2)
    first = tl.load(ends_ptr + group)
    last = tl.load(ends_ptr + group + 1)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, ROWS, BR):
        rows = start + tl.arange(0, BR)
        inside = rows < last - first
        x = tl.load(
            x_ptr + (first + rows)[:, None] * ldx + m[None, :], mask=inside[:, None] & (m[None, :] < M), other=0.0
        )
        g = tl.load(g_ptr + (first + rows)[:, None] * ldg + n[None, :], mask=inside[:, None] & (n[None, :] < N))
        acc += tl.dot(tl.trans(x), g)
    w_ptrs = w_ptr + group * M * ldw + m[:, None] * ldw + n[None, :]
    tl.store(w_ptrs, acc, mask=(m[:, None] < M) & (n[None, :] < N))


def launch(x, g, w, ends):
    grid = (triton.cdiv(x.shape[1], 64), triton.cdiv(g.shape[1], 64), w.shape[0])
    gradient_kernel[grid](
        x, g, w, ends, x.shape[0], x.shape[1], g.shape[1], x.stride(0), g.stride(0), w.stride(1), BM=64, BN=64, BR=32
    )
