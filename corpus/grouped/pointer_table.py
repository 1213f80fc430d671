# expect: TLX201
"""A grouped GEMM whose matrices are anywhere: their addresses come from a table, as the grouped tutorial has it."""

import torch
import triton
import triton.language as tl


@triton.jit
def pointer_table_kernel(
    a_table, b_table, c_table, sizes_ptr, groups, PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    passed = 0
    for g in range(groups):
        M = tl.load(sizes_ptr + 3 * g)
        N = tl.load(sizes_ptr + 3 * g + 1)
        K = tl.load(sizes_ptr + 3 * g + 2)
        tiles_n = tl.cdiv(N, BLOCK_N)
        tiles = tl.cdiv(M, BLOCK_M) * tiles_n
        while tile >= passed and tile < passed + tiles:
            a_ptr = tl.load(a_table + g).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_table + g).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_table + g).to(tl.pointer_type(tl.float16))
            m = ((tile - passed) // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
            n = ((tile - passed) % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for start in range(0, K, BLOCK_K):
                k = start + tl.arange(0, BLOCK_K)
                a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
                b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
                acc += tl.dot(a, b)
            tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
            tile += PROGRAMS
        passed += tiles


def grouped_matmul(pairs):
    """A list of (a, b), fp16 and contiguous; returns the products."""
    device = pairs[0][0].device
    outs = [torch.empty((a.shape[0], b.shape[1]), device=device, dtype=a.dtype) for a, b in pairs]
    sizes = torch.tensor([[a.shape[0], b.shape[1], a.shape[1]] for a, b in pairs], device=device, dtype=torch.int32)
    tables = [torch.tensor([t.data_ptr() for t in ts], device=device) for ts in (*zip(*pairs, strict=True), outs)]
    pointer_table_kernel[(132,)](
        *tables, sizes, len(pairs), PROGRAMS=132, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8
    )
    return outs
