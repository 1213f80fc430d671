"""C = A @ Bᵀ with tensor descriptors that the caller makes; a hook says how long their blocks are, config by config."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(nargs):
    BLOCK_M, BLOCK_N, BLOCK_K = nargs["BLOCK_M"], nargs["BLOCK_N"], nargs["BLOCK_K"]
    nargs["a_desc"].block_shape = [BLOCK_M, BLOCK_K]
    nargs["b_desc"].block_shape = [BLOCK_N, BLOCK_K]
    nargs["c_desc"].block_shape = [BLOCK_M, BLOCK_N]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3, pre_hook=set_blocks),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}, num_warps=4, num_stages=4, pre_hook=set_blocks),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def host_descriptor_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    width = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // width * GROUP_M
    tall = min(tl.cdiv(M, BLOCK_M) - first, GROUP_M)
    row = (first + pid % width % tall) * BLOCK_M
    col = pid % width // tall * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([row, k])
        b = b_desc.load([col, k])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([row, col], acc.to(c_desc.dtype))


def matmul_nt(a, b):
    """(M, K) @ (N, K)ᵀ; rows contiguous and on 16 bytes."""
    (M, K), N = a.shape, b.shape[0]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)  # noqa: E731
    described = [TensorDescriptor.from_tensor(tensor, [1, 1]) for tensor in (a, b, c)]
    host_descriptor_kernel[grid](*described, M, N, K, GROUP_M=8)
    return c
