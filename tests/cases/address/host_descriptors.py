# Descriptors of the caller's, one per batch of matrices: the launch says how long their blocks are.

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def kernel(
    x_desc, w_desc, y_ptr, M, N, K, stride_yb, stride_ym, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    batch = tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = x_desc.load([batch, tl.program_id(0) * BLOCK_M, k]).reshape(BLOCK_M, BLOCK_K)
        w = w_desc.load([k, tl.program_id(1) * BLOCK_N])
        acc = tl.dot(x, w, acc)
    y_ptrs = y_ptr + batch * stride_yb + rows[:, None] * stride_ym + cols[None, :]
    tl.store(y_ptrs, acc.to(x_desc.dtype), mask=(rows[:, None] < M) & (cols[None, :] < N))


def batched(x, w, y, BM=128, BN=128, BK=64):
    (B, M, K), N = x.shape, w.shape[1]
    x_desc = TensorDescriptor(x, x.shape, x.stride(), [1, BM, BK])
    w_desc = TensorDescriptor.from_tensor(w, block_shape=[BK, BN])
    kernel[(triton.cdiv(M, BM), triton.cdiv(N, BN), B)](
        x_desc, w_desc, y, M, N, K, y.stride(0), y.stride(1), BLOCK_M=BM, BLOCK_N=BN, BLOCK_K=BK
    )
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1", "GRID_2"])
def _kernel_ws(
    x_desc,
    w_desc,
    y_ptr,
    M,
    N,
    K,
    stride_yb,
    stride_ym,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GRID_0,
    GRID_1,
    GRID_2,
    STAGES: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    x_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(x_desc), STAGES)
    w_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(w_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(x_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of x and w.
        with tlx.async_task("default"):
            filled = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1 * GRID_2, tl.num_programs(0)):
                batch = tile // (GRID_0 * GRID_1)
                for k in range(0, K, BLOCK_K):
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                    tlx.async_descriptor_load(x_desc, x_ring[slot], [batch, (tile % GRID_0) * BLOCK_M, k], full[slot])
                    tlx.async_descriptor_load(
                        w_desc, w_ring[slot], [k, (tile // GRID_0 % GRID_1) * BLOCK_N], full[slot]
                    )
                    filled += 1

        # Consumer: multiplies from each slot, hands it back and finishes the tile.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS):
            used = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1 * GRID_2, tl.num_programs(0)):
                batch = tile // (GRID_0 * GRID_1)
                rows = (tile % GRID_0) * BLOCK_M + tl.arange(0, BLOCK_M)
                cols = (tile // GRID_0 % GRID_1) * BLOCK_N + tl.arange(0, BLOCK_N)
                acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for k in range(0, K, BLOCK_K):
                    slot = used % STAGES
                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                    x = x_ring[slot]
                    w = w_ring[slot]
                    acc = tlx.async_dot(x, w, acc)
                    # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                if K > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                y_ptrs = y_ptr + batch * stride_yb + rows[:, None] * stride_ym + cols[None, :]
                tl.store(y_ptrs, acc.to(x_desc.dtype), mask=(rows[:, None] < M) & (cols[None, :] < N))


def _kernel_guard(x_desc, w_desc, y_ptr, M, N, stride_yb, stride_ym, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    x = tlx.tma_view(
        "x_desc",
        x_desc,
        shape=(x_desc.shape[0], x_desc.shape[1], x_desc.shape[2]),
        strides=(x_desc.strides[0], x_desc.strides[1], 1),
    )
    tlx.require(not x.transposed, "stride", "x_desc is stored column by column")
    w = tlx.tma_view("w_desc", w_desc, shape=(w_desc.shape[0], w_desc.shape[1]), strides=(w_desc.strides[0], 1))
    tlx.require(not w.transposed, "stride", "w_desc is stored column by column")
    tlx.require_dtypes({"x_desc": x_desc, "w_desc": w_desc}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("y_ptr", y_ptr, (None, M, N), (stride_yb, stride_ym, 1), reads=(x, w))
    return {"x_desc": x, "w_desc": w}


def _kernel_boxes(x_desc, BLOCK_M, BLOCK_K, w_desc, BLOCK_N, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    # What one load or store of a descriptor of the caller's is taken to move.
    tlx.require_block("x_desc", x_desc, (1, BLOCK_M, BLOCK_K))
    tlx.require_block("w_desc", w_desc, (BLOCK_K, BLOCK_N))
    return {"x_desc": tlx.Box((1, BLOCK_M, BLOCK_K)), "w_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=3, output=("BLOCK_M", "BLOCK_N")),
        fingerprint="bf63e0749d66992c",
    )
