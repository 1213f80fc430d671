# Chunks of [B, T, H, K] seen as two axes per head, with a block pointer made in the loop, at two to four stages.

import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BT": 64, "BK": 32, "BV": 64}, num_warps=4, num_stages=stages) for stages in (2, 3, 4)],
    key=["T"],
)
@triton.jit
def chunk_kernel(
    q_ptr, k_ptr, o_ptr, T, H: tl.constexpr, K: tl.constexpr,
    BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    chunk, both = tl.program_id(0), tl.program_id(1)
    batch, head = both // H, both % H
    base = (batch * T * H + head) * K
    acc = tl.zeros((BT, BT), dtype=tl.float32)
    for i in range(tl.cdiv(K, BK)):
        q_block = tl.make_block_ptr(q_ptr + base, (T, K), (H * K, 1), (chunk * BT, i * BK), (BT, BK), (1, 0))
        k_block = tl.make_block_ptr(k_ptr + base, (K, T), (1, H * K), (i * BK, chunk * BT), (BK, BT), (0, 1))
        q = tl.load(q_block, boundary_check=(0, 1))
        k = tl.load(k_block, boundary_check=(0, 1))
        acc += tl.dot(q, k)
    rows = chunk * BT + tl.arange(0, BT)
    out = o_ptr + (batch * T * H + head) * BT + rows[:, None] * (H * BT) + tl.arange(0, BT)[None, :]
    tl.store(out, acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < T)


def chunks(q, k, o):
    batch, length, heads, width = q.shape
    grid = lambda meta: (triton.cdiv(length, meta["BT"]), batch * heads)  # noqa: E731
    chunk_kernel[grid](q, k, o, length, H=heads, K=width)
