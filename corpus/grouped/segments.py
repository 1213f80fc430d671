"""Segments of rows, each with a matrix of its own; nothing but the offsets on the device says how many rows there are."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=3),
        triton.Config({"BM": 64, "BN": 128, "BK": 64}, num_warps=4, num_stages=3),
    ],
    key=["N", "K"],
)
@triton.jit
def segments_kernel(
    x_ptr, w_ptr, y_ptr, offsets_ptr, N, K, ldx, ldw, ldy,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    segment = tl.program_id(2)
    begin = tl.load(offsets_ptr + segment)
    rows = tl.load(offsets_ptr + segment + 1) - begin
    if tl.program_id(0) * BM >= rows:
        return
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    x_ptr += begin * ldx
    w_ptr += segment * K * ldw
    y_ptr += begin * ldy
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        # The last segment ends where the tensor does, the others in the middle of it.
        x = tl.load(x_ptr + m[:, None] * ldx + k[None, :], mask=(m[:, None] < rows) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * ldw + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc)
    inside = (m[:, None] < rows) & (n[None, :] < N)
    tl.store(y_ptr + m[:, None] * ldy + n[None, :], acc.to(y_ptr.dtype.element_ty), mask=inside)


def segments_matmul(x, w, offsets):
    """x: (rows, K), w: (segments, K, N), offsets: (segments + 1,) int32, rising from 0 to rows; returns (rows, N)."""
    (rows, K), (segments, _, N) = x.shape, w.shape
    y = torch.empty((rows, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(rows, meta["BM"]), triton.cdiv(N, meta["BN"]), segments)  # noqa: E731
    segments_kernel[grid](x, w, y, offsets, N, K, x.stride(0), w.stride(1), y.stride(0))
    return y
