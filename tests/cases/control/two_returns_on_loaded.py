# Two early returns, both on what is loaded; the second one fills its tile first.

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, o_ptr, tok_ptr, exp_ptr, n_tok_ptr, N, K, swe, E: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(axis=0)
    pn = tl.program_id(axis=1)
    nt = tl.load(n_tok_ptr)
    if pm * BM >= nt:
        return
    e = tl.load(exp_ptr + pm)
    if e == -1:
        zero = tl.zeros((BM, BN), dtype=tl.float32)
        orow = tl.load(tok_ptr + pm * BM + tl.arange(0, BM))
        on = pn * BN + tl.arange(0, BN)
        tl.store(o_ptr + orow[:, None].to(tl.int64) * N + on[None, :], zero.to(o_ptr.dtype.element_ty), mask=on[None, :] < N)
        return
    rows = tl.load(tok_ptr + pm * BM + tl.arange(0, BM))
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        kk = k * BK + rk
        a = tl.load(x_ptr + rows[:, None].to(tl.int64) * K + kk[None, :], mask=kk[None, :] < K, other=0.0)
        b = tl.load(w_ptr + e.to(tl.int64) * swe + kk[:, None] * N + rn[None, :], mask=(kk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(o_ptr + rows[:, None].to(tl.int64) * N + rn[None, :], acc.to(o_ptr.dtype.element_ty), mask=rn[None, :] < N)


def run(x, w, o, tok, ex, n, N, K, P):
    kernel[(P, triton.cdiv(N, 64))](x, w, o, tok, ex, n, N, K, w.stride(0), E=8, BM=64, BN=64, BK=64)
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _kernel_ws(
    x_ptr,
    w_desc,
    o_ptr,
    tok_ptr,
    exp_ptr,
    n_tok_ptr,
    N,
    K,
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
    a_ring = tlx.local_alloc((BM, BK), tlx.dtype_of(x_ptr), STAGES)
    b_ring = tlx.local_alloc((BK, BN), tlx.dtype_of(w_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=2)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = BK * BN * tlx.size_of(tlx.dtype_of(w_desc))
    # Copies of so many later slots are under way while a slot is announced.
    BEHIND: tl.constexpr = STAGES - 2 if STAGES > 2 else 0

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then copies the rows of a into it, and has the TMA fetch b.
        with tlx.async_task("default"):
            filled = 0
            landed = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                pm = tile % GRID_0
                pn = tile // GRID_0
                nt = tl.load(n_tok_ptr)
                if pm * BM < nt:
                    e = tl.load(exp_ptr + pm)
                    if e != -1:
                        rows = tl.load(tok_ptr + pm * BM + tl.arange(0, BM))
                        rk = tl.arange(0, BK)
                        for k in range(0, tl.cdiv(K, BK)):
                            kk = k * BK + rk
                            slot = filled % STAGES
                            tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                            tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                            tlx.async_load(
                                x_ptr + rows[:, None].to(tl.int64) * K + kk[None, :], a_ring[slot], mask=kk[None, :] < K
                            )
                            tlx.async_descriptor_load(
                                w_desc, b_ring[slot], [e.to(tl.int32), k * BK, pn * BN], full[slot]
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
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                pm = tile % GRID_0
                pn = tile // GRID_0
                nt = tl.load(n_tok_ptr)
                if pm * BM < nt:
                    e = tl.load(exp_ptr + pm)
                    if e == -1:
                        zero = tl.zeros((BM, BN), dtype=tl.float32)
                        orow = tl.load(tok_ptr + pm * BM + tl.arange(0, BM))
                        on = pn * BN + tl.arange(0, BN)
                        tl.store(
                            o_ptr + orow[:, None].to(tl.int64) * N + on[None, :],
                            zero.to(o_ptr.dtype.element_ty),
                            mask=on[None, :] < N,
                        )
                    else:
                        rows = tl.load(tok_ptr + pm * BM + tl.arange(0, BM))
                        rn = pn * BN + tl.arange(0, BN)
                        acc = tl.zeros((BM, BN), tl.float32)
                        for k in range(0, tl.cdiv(K, BK)):
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
                        if tl.cdiv(K, BK) > 0:
                            tlx.barrier_arrive(empty[(used - 1) % STAGES])
                        tl.store(
                            o_ptr + rows[:, None].to(tl.int64) * N + rn[None, :],
                            acc.to(o_ptr.dtype.element_ty),
                            mask=rn[None, :] < N,
                        )


def _kernel_guard(x_ptr, w_ptr, o_ptr, tok_ptr, exp_ptr, n_tok_ptr, N, K, swe, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.copied_rows("x_ptr", x_ptr, unit=1, steps=(K,))
    w = tlx.tma_view("w_ptr", w_ptr, shape=(None, K, N), strides=(swe, N, 1))
    tlx.require(not w.transposed, "stride", "w_ptr is stored column by column")
    tlx.require_dtypes({"x_ptr": x_ptr, "w_ptr": w_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint(
        "o_ptr",
        o_ptr,
        (None, N),
        (N, 1),
        reads=(
            a,
            w,
            tlx.memory("n_tok_ptr", n_tok_ptr),
            tlx.memory("exp_ptr", exp_ptr),
            tlx.memory("tok_ptr", tok_ptr),
        ),
    )
    return {"a_ring": a, "w_desc": w}


def _kernel_boxes(BM, BK, BN, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"a_ring": tlx.Box((BM, BK), copied=True), "w_desc": tlx.Box((1, BK, BN))}


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=2, output=("BM", "BN")),
        fingerprint="733e4584a7fbdadc",
    )
