# Rows past the group's end are stored as well: they come out of zeros, not of the next group's rows.

import triton
import triton.language as tl


@triton.jit
def hostile_kernel(
    x_ptr, w_ptr, y_ptr, ends_ptr, M, N, K, ldx, ldw, ldg, ldy,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    end = tl.load(ends_ptr + tl.program_id(2))
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + m[:, None] * ldx + k[None, :], mask=(m[:, None] < end) & (m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * ldw + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, w)
    y_ptrs = y_ptr + tl.program_id(2) * ldg + m[:, None] * ldy + n[None, :]
    tl.store(y_ptrs, acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))

# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1", "GRID_2"])
def _hostile_kernel_ws(
    x_ptr,
    w_desc,
    y_ptr,
    ends_ptr,
    M,
    N,
    K,
    ldx,
    ldg,
    ldy,
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
    x_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(x_ptr), STAGES)
    w_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(w_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=2)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = BLOCK_K * BLOCK_N * tlx.size_of(tlx.dtype_of(w_desc))
    # Copies of so many later slots are under way while a slot is announced.
    BEHIND: tl.constexpr = STAGES - 2 if STAGES > 2 else 0

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then copies the rows of x into it, and has the TMA fetch w.
        with tlx.async_task("default"):
            filled = 0
            landed = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1 * GRID_2, tl.num_programs(0)):
                end = tl.load(ends_ptr + (tile // (GRID_0 * GRID_1)))
                m = (tile % GRID_0) * BLOCK_M + tl.arange(0, BLOCK_M)
                for start in range(0, K, BLOCK_K):
                    k = start + tl.arange(0, BLOCK_K)
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                    tlx.async_load(
                        x_ptr + m[:, None] * ldx + k[None, :],
                        x_ring[slot],
                        mask=(m[:, None] < end) & (m[:, None] < M) & (k[None, :] < K),
                    )
                    tlx.async_descriptor_load(
                        w_desc, w_ring[slot], [start, (tile // GRID_0 % GRID_1) * BLOCK_N], full[slot]
                    )
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
            for tile in range(tl.program_id(0), GRID_0 * GRID_1 * GRID_2, tl.num_programs(0)):
                m = (tile % GRID_0) * BLOCK_M + tl.arange(0, BLOCK_M)
                n = (tile // GRID_0 % GRID_1) * BLOCK_N + tl.arange(0, BLOCK_N)
                acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for start in range(0, K, BLOCK_K):
                    slot = used % STAGES
                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                    x = x_ring[slot]
                    w = w_ring[slot]
                    acc = tlx.async_dot(x, w, acc)
                    # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if start > 0:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                if K > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                y_ptrs = y_ptr + (tile // (GRID_0 * GRID_1)) * ldg + m[:, None] * ldy + n[None, :]
                tl.store(y_ptrs, acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


def _hostile_kernel_guard(x_ptr, w_ptr, y_ptr, ends_ptr, M, N, K, ldx, ldw, ldg, ldy, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    x = tlx.copied_rows("x_ptr", x_ptr, unit=1, steps=(ldx, K))
    w = tlx.tma_view("w_ptr", w_ptr, shape=(K, N), strides=(ldw, 1))
    tlx.require(not w.transposed, "stride", "w_ptr is stored column by column")
    tlx.require_dtypes({"x_ptr": x_ptr, "w_ptr": w_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("y_ptr", y_ptr, (None, M, N), (ldg, ldy, 1), reads=(x, w, tlx.memory("ends_ptr", ends_ptr)))
    return {"x_ring": x, "w_desc": w}


def _hostile_kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"x_ring": tlx.Box((BLOCK_M, BLOCK_K), copied=True), "w_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def specialize_hostile_kernel(original):
    """`original`, running _hostile_kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _hostile_kernel_ws,
        guard=_hostile_kernel_guard,
        boxes=_hostile_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=3, output=("BLOCK_M", "BLOCK_N")),
        fingerprint="aba4da213af1d327",
    )
