# Rows gathered through loaded indices: the producer copies them, and the TMA fetches the other operand.

import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, index_ptr, M, N, K, lda, ldb, ldc, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    index = tl.load(index_ptr + rows, mask=rows < M, other=0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        depth = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + index[:, None] * lda + depth[None, :], mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
        b = tl.load(b_ptr + depth[:, None] * ldb + cols[None, :], mask=(depth[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _kernel_ws(
    a_ptr,
    b_desc,
    c_ptr,
    index_ptr,
    M,
    N,
    K,
    lda,
    ldc,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GRID_0,
    GRID_1,
    STAGES: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_ptr), STAGES)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=2)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = BLOCK_K * BLOCK_N * tlx.size_of(tlx.dtype_of(b_desc))
    # Copies of so many later slots are under way while a slot is announced.
    BEHIND: tl.constexpr = STAGES - 2 if STAGES > 2 else 0

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then copies the rows of a into it, and has the TMA fetch b.
        with tlx.async_task("default"):
            filled = 0
            landed = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                rows = (tile % GRID_0) * BLOCK_M + tl.arange(0, BLOCK_M)
                index = tl.load(index_ptr + rows, mask=rows < M, other=0)
                for start in range(0, K, BLOCK_K):
                    depth = start + tl.arange(0, BLOCK_K)
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                    tlx.async_load(
                        a_ptr + index[:, None] * lda + depth[None, :],
                        a_ring[slot],
                        mask=(rows[:, None] < M) & (depth[None, :] < K),
                    )
                    tlx.async_descriptor_load(b_desc, b_ring[slot], [start, (tile // GRID_0) * BLOCK_N], full[slot])
                    filled += 1
                    # The copies of this trip stay under way; a slot of an earlier trip is full when its copies have landed.
                    tlx.async_load_commit_group()
                    if filled - landed > BEHIND:
                        tlx.async_load_wait_group(BEHIND)
                        tlx.fence_async_shared()
                        tlx.barrier_arrive(full[landed % STAGES])
                        landed += 1
                tlx.async_load_wait_group(0)
                tlx.fence_async_shared()
                while landed < filled:
                    tlx.barrier_arrive(full[landed % STAGES])
                    landed += 1

        # Consumer: multiplies from each slot, hands it back and finishes the tile.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS):
            used = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                rows = (tile % GRID_0) * BLOCK_M + tl.arange(0, BLOCK_M)
                cols = (tile // GRID_0) * BLOCK_N + tl.arange(0, BLOCK_N)
                acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for start in range(0, K, BLOCK_K):
                    slot = used % STAGES
                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                    a = a_ring[slot]
                    b = b_ring[slot]
                    acc = tlx.async_dot(a, b, acc)
                    # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if start > 0:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                if K > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                tl.store(
                    c_ptr + rows[:, None] * ldc + cols[None, :],
                    acc.to(tl.float16),
                    mask=(rows[:, None] < M) & (cols[None, :] < N),
                )


def _kernel_guard(a_ptr, b_ptr, c_ptr, index_ptr, M, N, K, lda, ldb, ldc, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.copied_rows("a_ptr", a_ptr, unit=1, steps=(lda, K))
    b = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(ldb, 1))
    tlx.require(not b.transposed, "stride", "b_ptr is stored column by column")
    tlx.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (ldc, 1), reads=(a, b, tlx.memory("index_ptr", index_ptr)))
    return {"a_ring": a, "b_desc": b}


def _kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"a_ring": tlx.Box((BLOCK_M, BLOCK_K), copied=True), "b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=2, output=("BLOCK_M", "BLOCK_N")),
        fingerprint="7248240f98767c5e",
    )
