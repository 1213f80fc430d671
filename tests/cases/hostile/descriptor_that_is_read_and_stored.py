# One descriptor of the caller's brings operands and takes the result: what one program stores another reads.

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def hostile_kernel(x_desc, w_desc, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = x_desc.load([row, k])
        w = w_desc.load([k, col])
        acc = tl.dot(x, w, acc)
    x_desc.store([row, col], acc.to(x_desc.dtype))


def launch(x, w):
    x_desc, w_desc = TensorDescriptor.from_tensor(x, [64, 64]), TensorDescriptor.from_tensor(w, [64, 64])
    hostile_kernel[(x.shape[0] // 64, w.shape[1] // 64)](
        x_desc, w_desc, x.shape[1], BLOCK_M=64, BLOCK_N=64, BLOCK_K=64
    )
# declined: TLX321 at 13
