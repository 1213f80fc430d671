"""Stream-K: the trips of all tiles are dealt out evenly to the programs, which add up what they have of a tile by atomics."""

import torch
import triton
import triton.language as tl


@triton.jit
def stream_k_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, share,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    trips = tl.cdiv(K, BLOCK_K)
    tiles_n = tl.cdiv(N, BLOCK_N)
    total = tl.cdiv(M, BLOCK_M) * tiles_n * trips
    start = tl.program_id(0) * share
    stop = tl.minimum(start + share, total)
    while start < stop:
        tile = start // trips
        # This program's part of the tile: from its own start to its own end or the tile's.
        end = tl.minimum(start + (trips - start % trips), stop)
        pid_m = tile // tiles_n
        pid_n = tile % tiles_n
        offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for current in range(start, end):
            offs_k = (current % trips) * BLOCK_K + tl.arange(0, BLOCK_K)
            a = tl.load(
                a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak,
                mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0,
            )  # fmt: skip
            b = tl.load(
                b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn,
                mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0,
            )  # fmt: skip
            acc = tl.dot(a, b, acc)
        c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
        tl.atomic_add(c_ptrs, acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
        start = end


def matmul_stream_k(a, b, programs=132):
    """(M, K) @ (K, N) in fp32."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.zeros((M, N), device=a.device, dtype=torch.float32)
    total = triton.cdiv(M, 128) * triton.cdiv(N, 128) * triton.cdiv(K, 64)
    share = triton.cdiv(total, programs)
    stream_k_kernel[(programs,)](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), share,
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    return c
