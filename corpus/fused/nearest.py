"""k-means assignment: for each point the nearest centroid, by |c|² − 2 x·c; the smallest so far is carried along."""

import torch
import triton
import triton.language as tl


@triton.jit
def nearest_kernel(
    x_ptr, c_ptr, norm_ptr, label_ptr, points, centroids, stride_x, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, DIM)
    x = tl.load(x_ptr + rows[:, None] * stride_x + dims[None, :], mask=rows[:, None] < points, other=0.0)
    best = tl.full((BLOCK_M,), float("inf"), dtype=tl.float32)
    label = tl.zeros((BLOCK_M,), dtype=tl.int32)
    for start in range(0, centroids, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        c = tl.load(c_ptr + cols[:, None] * stride_c + dims[None, :], mask=cols[:, None] < centroids, other=0.0)
        norm = tl.load(norm_ptr + cols, mask=cols < centroids, other=float("inf"))
        distance = norm[None, :] - 2.0 * tl.dot(x, tl.trans(c))
        low = tl.min(distance, axis=1)
        where = start + tl.argmin(distance, axis=1)
        label = tl.where(low < best, where, label)
        best = tl.minimum(low, best)
    tl.store(label_ptr + rows, label, mask=rows < points)


def nearest(x, c):
    """x: (points, 64), c: (centroids, 64); returns (points,) int32."""
    label = torch.empty(x.shape[0], device=x.device, dtype=torch.int32)
    norm = (c.float() ** 2).sum(1)
    nearest_kernel[(triton.cdiv(x.shape[0], 128),)](
        x, c, norm, label, x.shape[0], c.shape[0], x.stride(0), c.stride(0),
        BLOCK_M=128, BLOCK_N=64, DIM=x.shape[1], num_warps=8, num_stages=3,
    )  # fmt: skip
    return label
