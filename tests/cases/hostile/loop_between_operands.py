# One operand of the last dot is loaded before a loop, the other one behind it: they must not wait for each other.

import triton
import triton.language as tl


@triton.jit
def kernel(
    q_ptr, k_ptr, v_ptr, w_ptr, g_ptr, c_ptr, M, N, K, sq, sk, sv, sw, sg, sc,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.load(k_ptr + rows[:, None] * sk + n[None, :], mask=(rows[:, None] < M) & (n[None, :] < N), other=0.0)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        d = start + tl.arange(0, BK)
        v = tl.load(v_ptr + rows[:, None] * sv + d[None, :], mask=(rows[:, None] < M) & (d[None, :] < K), other=0.0)
        w = tl.load(w_ptr + d[:, None] * sw + n[None, :], mask=(d[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(v, w, acc)
    g = tl.load(g_ptr + rows[:, None] * sg + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < BM), other=0.0)
    acc = tl.dot(g, k, acc)
    tl.store(c_ptr + rows[:, None] * sc + n[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (n[None, :] < N))
# output
@tlx.jit(do_not_specialize=["GRID_0"])
def _kernel_ws(
    k_desc,
    v_desc,
    w_desc,
    g_desc,
    c_ptr,
    M,
    N,
    K,
    sc,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GRID_0,
    STAGES: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # k_ring and g_ring: a single slot, whose tile stays while a whole loop reads it.
    k_ring = tlx.local_alloc((BM, BN), tlx.dtype_of(k_desc), 1)
    # producer → consumers: the slot holds its tiles.
    k_full = tlx.alloc_barriers(1, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    k_empty = tlx.alloc_barriers(1, arrive_count=1)
    K_BYTES: tl.constexpr = BM * BN * tlx.size_of(tlx.dtype_of(k_desc))
    v_ring = tlx.local_alloc((BM, BK), tlx.dtype_of(v_desc), STAGES)
    w_ring = tlx.local_alloc((BK, BN), tlx.dtype_of(w_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    v_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    v_empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    V_BYTES: tl.constexpr = (BM + BN) * BK * tlx.size_of(tlx.dtype_of(v_desc))
    g_ring = tlx.local_alloc((BM, BM), tlx.dtype_of(g_desc), 1)
    # producer → consumers: the slot holds its tiles.
    g_full = tlx.alloc_barriers(1, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    g_empty = tlx.alloc_barriers(1, arrive_count=1)
    G_BYTES: tl.constexpr = BM * BM * tlx.size_of(tlx.dtype_of(g_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of k, v, w and g.
        with tlx.async_task("default"):
            k_filled = 0
            v_filled = 0
            g_filled = 0
            for tile in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                tlx.barrier_wait(k_empty[0], (k_filled & 1) ^ 1)
                tlx.barrier_expect_bytes(k_full[0], K_BYTES)
                tlx.async_descriptor_load(k_desc, k_ring[0], [tile * BM, 0], k_full[0])
                k_filled += 1
                for start in range(0, K, BK):
                    v_slot = v_filled % STAGES
                    tlx.barrier_wait(v_empty[v_slot], ((v_filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(v_full[v_slot], V_BYTES)
                    tlx.async_descriptor_load(v_desc, v_ring[v_slot], [tile * BM, start], v_full[v_slot])
                    tlx.async_descriptor_load(w_desc, w_ring[v_slot], [start, 0], v_full[v_slot])
                    v_filled += 1
                tlx.barrier_wait(g_empty[0], (g_filled & 1) ^ 1)
                tlx.barrier_expect_bytes(g_full[0], G_BYTES)
                tlx.async_descriptor_load(g_desc, g_ring[0], [tile * BM, 0], g_full[0])
                g_filled += 1

        # Consumer: multiplies from each slot, hands it back and finishes the tile.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS):
            k_used = 0
            v_used = 0
            g_used = 0
            for tile in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                rows = tile * BM + tl.arange(0, BM)
                n = tl.arange(0, BN)
                tlx.barrier_wait(k_full[0], k_used & 1)
                k = k_ring[0]
                acc = tl.zeros((BM, BN), tl.float32)
                for start in range(0, K, BK):
                    v_slot = v_used % STAGES
                    tlx.barrier_wait(v_full[v_slot], (v_used // STAGES) & 1)
                    v = v_ring[v_slot]
                    w = w_ring[v_slot]
                    acc = tlx.async_dot(v, w, acc)
                    # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if start > 0:
                        tlx.barrier_arrive(v_empty[(v_used - 1) % STAGES])
                    v_used += 1
                acc = tlx.async_dot_wait(0, acc)
                if K > 0:
                    tlx.barrier_arrive(v_empty[(v_used - 1) % STAGES])
                tlx.barrier_wait(g_full[0], g_used & 1)
                g = g_ring[0]
                acc = tlx.async_dot(g, k, acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(k_empty[0])
                k_used += 1
                tlx.barrier_arrive(g_empty[0])
                g_used += 1
                tl.store(
                    c_ptr + rows[:, None] * sc + n[None, :],
                    acc.to(tl.float16),
                    mask=(rows[:, None] < M) & (n[None, :] < N),
                )


def _kernel_guard(k_ptr, v_ptr, w_ptr, g_ptr, c_ptr, M, N, K, sk, sv, sw, sg, sc, BM, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    k = tlx.tma_view("k_ptr", k_ptr, shape=(M, N), strides=(sk, 1))
    tlx.require(not k.transposed, "stride", "k_ptr is stored column by column")
    v = tlx.tma_view("v_ptr", v_ptr, shape=(M, K), strides=(sv, 1))
    tlx.require(not v.transposed, "stride", "v_ptr is stored column by column")
    w = tlx.tma_view("w_ptr", w_ptr, shape=(K, N), strides=(sw, 1))
    tlx.require(not w.transposed, "stride", "w_ptr is stored column by column")
    g = tlx.tma_view("g_ptr", g_ptr, shape=(M, BM), strides=(sg, 1))
    tlx.require(not g.transposed, "stride", "g_ptr is stored column by column")
    tlx.require_dtypes({"v_ptr": v_ptr, "w_ptr": w_ptr}, ("fp16", "bf16"))
    tlx.require_dtypes({"g_ptr": g_ptr, "k_ptr": k_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (sc, 1), reads=(k, v, w, g))
    return {"k_desc": k, "v_desc": v, "w_desc": w, "g_desc": g}


def _kernel_boxes(BM, BN, BK, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {
        "k_desc": tlx.Box((BM, BN), stays=True),
        "v_desc": tlx.Box((BM, BK)),
        "w_desc": tlx.Box((BK, BN)),
        "g_desc": tlx.Box((BM, BM), stays=True),
    }


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=1, output=("BM", "BN")),
        fingerprint="9a56a243f169c443",
    )
