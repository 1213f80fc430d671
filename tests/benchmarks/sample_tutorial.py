"""A tutorial of our own, written as Meta's are: plain ``triton.jit``, their import, host code and an autotuner."""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def set_blocks(nargs):
    nargs["a_desc"].block_shape = [nargs["BM"], nargs["BK"]]
    nargs["b_desc"].block_shape = [nargs["BK"], nargs["BN"]]


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": bn, "BK": 64}, num_warps=4, num_stages=1, pre_hook=set_blocks)
        for bn in (64, 128)
    ],
    key=["K"],
)
@triton.jit
def product(a_desc, b_desc, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_tile = tlx.local_alloc((BM, BK), tlx.dtype_of(a_desc), 1)
    b_tile = tlx.local_alloc((BK, BN), tlx.dtype_of(b_desc), 1)
    full = tlx.alloc_barriers(1)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        tlx.barrier_expect_bytes(full[0], (BM + BN) * BK * 2)
        tlx.async_descriptor_load(a_desc, a_tile[0], [tl.program_id(0) * BM, k * BK], full[0])
        tlx.async_descriptor_load(b_desc, b_tile[0], [k * BK, tl.program_id(1) * BN], full[0])
        tlx.barrier_wait(full[0], k & 1)
        acc = tlx.async_dot(a_tile[0], b_tile[0], acc)
        acc = tlx.async_dot_wait(0, acc)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc.to(tl.float16), (rows[:, None] < M) & (cols[None, :] < N))


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=DEVICE, dtype=torch.float16)
    a_desc = TensorDescriptor(a, [m, k], [k, 1], [1, 1])
    b_desc = TensorDescriptor(b, [k, n], [n, 1], [1, 1])
    product[lambda meta: (triton.cdiv(m, meta["BM"]), triton.cdiv(n, meta["BN"]))](a_desc, b_desc, c, m, n, k)
    return c
