# A chunk's length is the tile, the stride from head to head and the width of the matrix at once.

import triton
import triton.language as tl


@triton.jit
def chunk_per_head_kernel(
    a_ptr, k_ptr, w_ptr, T, H: tl.constexpr, D: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr,
):
    i_t, i_bh = tl.program_id(0), tl.program_id(1)
    i_b, i_h = i_bh // H, i_bh % H
    rows = i_t * BT + tl.arange(0, BT)
    cols = tl.arange(0, BT)
    a_ptrs = a_ptr + ((i_b * T + rows[:, None]) * H + i_h) * BT + cols[None, :]
    a = tl.load(a_ptrs, mask=(rows[:, None] < T) & (cols[None, :] < BT), other=0.0)
    for start in range(0, D, BK):
        d = start + tl.arange(0, BK)
        inside = (rows[:, None] < T) & (d[None, :] < D)
        offsets = ((i_b * T + rows[:, None]) * H + i_h) * D + d[None, :]
        k = tl.load(k_ptr + offsets, mask=inside, other=0.0)
        w = tl.dot(a, k)
        tl.store(w_ptr + offsets, w.to(w_ptr.dtype.element_ty), mask=inside)
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _chunk_per_head_kernel_ws(
    a_desc,
    k_desc,
    w_ptr,
    T,
    H: tl.constexpr,
    D: tl.constexpr,
    BT: tl.constexpr,
    BK: tl.constexpr,
    GRID_0,
    GRID_1,
    STAGES: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # a_ring: a single slot, whose tile stays while a whole loop reads it.
    a_ring = tlx.local_alloc((BT, BT), tlx.dtype_of(a_desc), 1)
    # producer → consumers: the slot holds its tiles.
    a_full = tlx.alloc_barriers(1, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    a_empty = tlx.alloc_barriers(1, arrive_count=1)
    A_BYTES: tl.constexpr = BT * BT * tlx.size_of(tlx.dtype_of(a_desc))
    k_ring = tlx.local_alloc((BT, BK), tlx.dtype_of(k_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    k_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    k_empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    K_BYTES: tl.constexpr = BT * BK * tlx.size_of(tlx.dtype_of(k_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of a and k.
        with tlx.async_task("default"):
            a_filled = 0
            k_filled = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                i_t, i_bh = (tile % GRID_0), (tile // GRID_0)
                i_b, i_h = i_bh // H, i_bh % H
                tlx.barrier_wait(a_empty[0], (a_filled & 1) ^ 1)
                tlx.barrier_expect_bytes(a_full[0], A_BYTES)
                tlx.async_descriptor_load(a_desc, a_ring[0], [i_b, i_h, i_t * BT, 0], a_full[0])
                a_filled += 1
                for start in range(0, D, BK):
                    k_slot = k_filled % STAGES
                    tlx.barrier_wait(k_empty[k_slot], ((k_filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(k_full[k_slot], K_BYTES)
                    tlx.async_descriptor_load(k_desc, k_ring[k_slot], [i_h, i_b, i_t * BT, start], k_full[k_slot])
                    k_filled += 1

        # Consumer: multiplies from each slot, hands it back and finishes the tile.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS):
            a_used = 0
            k_used = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                i_t, i_bh = (tile % GRID_0), (tile // GRID_0)
                i_b, i_h = i_bh // H, i_bh % H
                rows = i_t * BT + tl.arange(0, BT)
                tlx.barrier_wait(a_full[0], a_used & 1)
                a = a_ring[0]
                for start in range(0, D, BK):
                    d = start + tl.arange(0, BK)
                    inside = (rows[:, None] < T) & (d[None, :] < D)
                    offsets = ((i_b * T + rows[:, None]) * H + i_h) * D + d[None, :]
                    k_slot = k_used % STAGES
                    tlx.barrier_wait(k_full[k_slot], (k_used // STAGES) & 1)
                    k = k_ring[k_slot]
                    w = tlx.async_dot(a, k)
                    w = tlx.async_dot_wait(0, w)
                    tlx.barrier_arrive(k_empty[k_slot])
                    k_used += 1
                    tl.store(w_ptr + offsets, w.to(w_ptr.dtype.element_ty), mask=inside)
                tlx.barrier_arrive(a_empty[0])
                a_used += 1


def _chunk_per_head_kernel_guard(a_ptr, k_ptr, w_ptr, T, H, D, BT, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.tma_view("a_ptr", a_ptr, shape=(None, None, T, BT), strides=(T * BT * H, BT, BT * H, 1))
    tlx.require(not a.transposed, "stride", "a_ptr is stored column by column")
    k = tlx.tma_view("k_ptr", k_ptr, shape=(None, None, T, D), strides=(D, T * D * H, D * H, 1))
    tlx.require(not k.transposed, "stride", "k_ptr is stored column by column")
    tlx.require_dtypes({"a_ptr": a_ptr, "k_ptr": k_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("w_ptr", w_ptr, (None, None, T, D), (D, T * D * H, D * H, 1), reads=(a, k))
    return {"a_desc": a, "k_desc": k}


def _chunk_per_head_kernel_boxes(BT, BK, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"a_desc": tlx.Box((1, 1, BT, BT), stays=True), "k_desc": tlx.Box((1, 1, BT, BK))}


def specialize_chunk_per_head_kernel(original):
    """`original`, running _chunk_per_head_kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _chunk_per_head_kernel_ws,
        guard=_chunk_per_head_kernel_guard,
        boxes=_chunk_per_head_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=2, output=("BT", "BK")),
        fingerprint="5edfa56b1d2494ee",
    )
