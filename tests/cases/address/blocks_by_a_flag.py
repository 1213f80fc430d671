# How B lies is a flag's to say: the hook gives its blocks the one form or the other.

import triton
import triton.language as tl


def set_blocks(nargs):
    nargs["a_desc"].block_shape = [nargs["BLOCK_M"], nargs["BLOCK_K"]]
    if nargs["ROWS_OF_B"]:
        nargs["b_desc"].block_shape = [nargs["BLOCK_K"], nargs["BLOCK_N"]]
    else:
        nargs["b_desc"].block_shape = [nargs["BLOCK_N"], nargs["BLOCK_K"]]


@triton.jit
def kernel(
    a_desc, b_desc, c_ptr, M, N, K, ldc, ROWS_OF_B: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([tl.program_id(0) * BLOCK_M, k])
        if ROWS_OF_B:
            b = b_desc.load([k, tl.program_id(1) * BLOCK_N])
        else:
            bt = b_desc.load([tl.program_id(1) * BLOCK_N, k])
            b = tl.trans(bt)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * ldc + cols[None, :], acc.to(a_desc.dtype), mask=(rows[:, None] < M) & (cols[None, :] < N))
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _kernel_ws(
    a_desc,
    b_desc,
    c_ptr,
    M,
    N,
    K,
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
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc), STAGES)
    bt_ring = tlx.local_alloc((BLOCK_N, BLOCK_K), tlx.dtype_of(b_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of a and bt.
        with tlx.async_task("default"):
            filled = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                for k in range(0, K, BLOCK_K):
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                    tlx.async_descriptor_load(a_desc, a_ring[slot], [(tile % GRID_0) * BLOCK_M, k], full[slot])
                    tlx.async_descriptor_load(b_desc, bt_ring[slot], [(tile // GRID_0) * BLOCK_N, k], full[slot])
                    filled += 1

        # Consumer: multiplies from each slot, hands it back and finishes the tile.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS):
            used = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                rows = (tile % GRID_0) * BLOCK_M + tl.arange(0, BLOCK_M)
                cols = (tile // GRID_0) * BLOCK_N + tl.arange(0, BLOCK_N)
                acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for k in range(0, K, BLOCK_K):
                    slot = used % STAGES
                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                    a = a_ring[slot]
                    bt = bt_ring[slot]
                    acc = tlx.async_dot(a, tlx.local_trans(bt), acc)
                    # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                if K > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                tl.store(
                    c_ptr + rows[:, None] * ldc + cols[None, :],
                    acc.to(a_desc.dtype),
                    mask=(rows[:, None] < M) & (cols[None, :] < N),
                )


def _kernel_guard(a_desc, b_desc, c_ptr, M, N, ldc, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.tma_view("a_desc", a_desc, shape=(a_desc.shape[0], a_desc.shape[1]), strides=(a_desc.strides[0], 1))
    tlx.require(not a.transposed, "stride", "a_desc is stored column by column")
    b = tlx.tma_view("b_desc", b_desc, shape=(b_desc.shape[0], b_desc.shape[1]), strides=(b_desc.strides[0], 1))
    tlx.require(not b.transposed, "stride", "b_desc is stored column by column")
    tlx.require_dtypes({"a_desc": a_desc, "b_desc": b_desc}, ("fp16", "bf16", "fp8e4nv", "fp8e5"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (ldc, 1), reads=(a, b))
    return {"a_desc": a, "b_desc": b}


def _kernel_boxes(a_desc, BLOCK_M, BLOCK_K, b_desc, BLOCK_N, ROWS_OF_B, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    # What the converted kernel relies on: any other config is left to the original.
    tlx.require(not ROWS_OF_B, "claim", "not so: not ROWS_OF_B")
    # What one load or store of a descriptor of the caller's is taken to move.
    tlx.require_block("a_desc", a_desc, (BLOCK_M, BLOCK_K))
    tlx.require_block("b_desc", b_desc, (BLOCK_N, BLOCK_K))
    return {"a_desc": tlx.Box((BLOCK_M, BLOCK_K)), "b_desc": tlx.Box((BLOCK_N, BLOCK_K))}


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=2, output=("BLOCK_M", "BLOCK_N")),
        fingerprint="9b8d3b0c393e8cb5",
    )
