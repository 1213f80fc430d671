# Rows past the end read the second one: no box, so threads copy the rows.

import triton
import triton.language as tl


@triton.jit
def k(a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    mm = tl.where(m < M, m, 1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(a_ptr + (mm[:, None] * sa + ks[None, :]), mask=ks[None, :] < K, other=0.0)
        b = tl.load(b_ptr + (ks[:, None] * sb + n[None, :]), mask=(ks[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + sc * m[:, None] + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _k_ws(
    a_ptr,
    b_desc,
    c_ptr,
    M,
    N,
    K,
    sa,
    sc,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GRID_0,
    GRID_1,
    STAGES: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    a_ring = tlx.local_alloc((BM, BK), tlx.dtype_of(a_ptr), STAGES)
    b_ring = tlx.local_alloc((BK, BN), tlx.dtype_of(b_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=2)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = BK * BN * tlx.size_of(tlx.dtype_of(b_desc))
    # Copies of so many later slots are under way while a slot is announced.
    BEHIND: tl.constexpr = STAGES - 2 if STAGES > 2 else 0

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then copies the rows of a into it, and has the TMA fetch b.
        with tlx.async_task("default"):
            filled = 0
            landed = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                m = (tile % GRID_0) * BM + tl.arange(0, BM)
                mm = tl.where(m < M, m, 1)
                for k in range(0, K, BK):
                    ks = k + tl.arange(0, BK)
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                    tlx.async_load(a_ptr + (mm[:, None] * sa + ks[None, :]), a_ring[slot], mask=ks[None, :] < K)
                    tlx.async_descriptor_load(b_desc, b_ring[slot], [k, (tile // GRID_0) * BN], full[slot])
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
                m = (tile % GRID_0) * BM + tl.arange(0, BM)
                n = (tile // GRID_0) * BN + tl.arange(0, BN)
                acc = tl.zeros((BM, BN), tl.float32)
                for k in range(0, K, BK):
                    slot = used % STAGES
                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                    a = a_ring[slot]
                    b = b_ring[slot]
                    acc = tlx.async_dot(a, b, acc)
                    # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                if K > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                tl.store(
                    c_ptr + sc * m[:, None] + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N)
                )


def _k_guard(a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.copied_rows("a_ptr", a_ptr, unit=1, steps=(sa, K))
    b = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(sb, 1))
    tlx.require(not b.transposed, "stride", "b_ptr is stored column by column")
    tlx.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (sc, 1), reads=(a, b))
    return {"a_ring": a, "b_desc": b}


def _k_boxes(BM, BK, BN, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"a_ring": tlx.Box((BM, BK), copied=True), "b_desc": tlx.Box((BK, BN))}


def specialize_k(original):
    """`original`, running _k_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _k_ws,
        guard=_k_guard,
        boxes=_k_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=2, output=("BM", "BN")),
        fingerprint="be7d6318d3d68f86",
    )
