# Scores read through one block pointer, moved in the loop, and written through another: the warps that compute keep both.
import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, bias_ptr, out_ptr, M, N, lda, ldb, ldx, ldo,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    a = tl.make_block_ptr(a_ptr, (M, BLOCK_K), (lda, 1), (start_m * BLOCK_M, 0), (BLOCK_M, BLOCK_K), (1, 0))
    b = tl.make_block_ptr(b_ptr, (BLOCK_K, N), (ldb, 1), (0, 0), (BLOCK_K, BLOCK_N), (1, 0))
    bias = tl.make_block_ptr(bias_ptr, (M, N), (ldx, 1), (start_m * BLOCK_M, 0), (BLOCK_M, BLOCK_N), (1, 0))
    out = tl.make_block_ptr(out_ptr, (M, N), (ldo, 1), (start_m * BLOCK_M, 0), (BLOCK_M, BLOCK_N), (1, 0))
    a_tile = tl.load(a, boundary_check=(0,), padding_option="zero")
    for _ in range(0, tl.cdiv(N, BLOCK_N)):
        scores = tl.dot(a_tile, tl.load(b, boundary_check=(1,), padding_option="zero"))
        # What lies past the edge of the bias counts as zero.
        scores += tl.load(bias, boundary_check=(0, 1), padding_option="zero")
        tl.store(out, scores.to(out_ptr.dtype.element_ty), boundary_check=(0, 1))
        b = tl.advance(b, (0, BLOCK_N))
        bias = tl.advance(bias, (0, BLOCK_N))
        out = tl.advance(out, (0, BLOCK_N))
# output
@tlx.jit(do_not_specialize=["GRID_0"])
def _kernel_ws(
    a_desc, b_desc, bias_ptr, out_ptr, M, N, ldx, ldo,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GRID_0,
    STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):  # fmt: skip
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # a_tile_ring: one tile of ROWS rows per consumer group; b_ring: one tile for all.
    # a_tile_ring: a single slot, whose tile stays while a whole loop reads it.
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    a_tile_ring = tlx.local_alloc((ROWS, BLOCK_K), tlx.dtype_of(a_desc), CONSUMERS)
    # producer → consumers: the slot holds its tiles.
    a_tile_full = tlx.alloc_barriers(1, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    a_tile_empty = tlx.alloc_barriers(1, arrive_count=CONSUMERS)
    A_TILE_BYTES: tl.constexpr = BLOCK_M * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc))
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    b_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    b_empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    B_BYTES: tl.constexpr = BLOCK_K * BLOCK_N * tlx.size_of(tlx.dtype_of(b_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of a_tile and b.
        with tlx.async_task("default"):
            a_tile_filled = 0
            b_filled = 0
            for tile in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                start_m = tile
                tlx.barrier_wait(a_tile_empty[0], (a_tile_filled & 1) ^ 1)
                tlx.barrier_expect_bytes(a_tile_full[0], A_TILE_BYTES)
                for group in tl.static_range(CONSUMERS):
                    tlx.async_descriptor_load(
                        a_desc, a_tile_ring[group], [start_m * BLOCK_M + ROWS * group, 0], a_tile_full[0]
                    )
                a_tile_filled += 1
                for k in range(0, tl.cdiv(N, BLOCK_N)):
                    b_slot = b_filled % STAGES
                    tlx.barrier_wait(b_empty[b_slot], ((b_filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(b_full[b_slot], B_BYTES)
                    tlx.async_descriptor_load(b_desc, b_ring[b_slot], [0, k * BLOCK_N], b_full[b_slot])
                    b_filled += 1

        # Consumers: each group multiplies its ROWS rows of every slot, hands the slot back and finishes its rows.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            a_tile_used = 0
            b_used = 0
            for tile in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                start_m = tile
                tlx.barrier_wait(a_tile_full[0], a_tile_used & 1)
                a_tile = a_tile_ring[group]
                for k in range(0, tl.cdiv(N, BLOCK_N)):
                    b_slot = b_used % STAGES
                    tlx.barrier_wait(b_full[b_slot], (b_used // STAGES) & 1)
                    b_tile = b_ring[b_slot]
                    scores = tlx.async_dot(a_tile, b_tile)
                    scores = tlx.async_dot_wait(0, scores)
                    tlx.barrier_arrive(b_empty[b_slot])
                    b_used += 1
                    # What lies past the edge of the bias counts as zero.
                    loaded_rows = start_m * BLOCK_M + ROWS * group + tl.arange(0, ROWS)
                    loaded_columns = k * BLOCK_N + tl.arange(0, BLOCK_N)
                    scores += tl.load(
                        bias_ptr + loaded_rows[:, None].to(tl.int64) * ldx + loaded_columns[None, :].to(tl.int64),
                        mask=(loaded_rows[:, None] < M) & (loaded_columns[None, :] < N),
                        other=0.0,
                    )
                    stored_rows = start_m * BLOCK_M + ROWS * group + tl.arange(0, ROWS)
                    stored_columns = k * BLOCK_N + tl.arange(0, BLOCK_N)
                    tl.store(
                        out_ptr + stored_rows[:, None].to(tl.int64) * ldo + stored_columns[None, :].to(tl.int64),
                        scores.to(out_ptr.dtype.element_ty),
                        mask=(stored_rows[:, None] < M) & (stored_columns[None, :] < N),
                    )
                tlx.barrier_arrive(a_tile_empty[0])
                a_tile_used += 1


def _kernel_guard(a_ptr, b_ptr, out_ptr, M, N, lda, ldb, ldo, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.tma_view("a_ptr", a_ptr, shape=(M, None), strides=(lda, 1))
    tlx.require(not a.transposed, "stride", "a_ptr is stored column by column")
    b = tlx.tma_view("b_ptr", b_ptr, shape=(None, N), strides=(ldb, 1))
    tlx.require(not b.transposed, "stride", "b_ptr is stored column by column")
    tlx.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("out_ptr", out_ptr, (M, N), (ldo, 1), reads=(a, b))
    return {"a_desc": a, "b_desc": b}


def _kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, CONSUMERS, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {
        "a_desc": tlx.Box((BLOCK_M // CONSUMERS, BLOCK_K), count=CONSUMERS, stays=True),
        "b_desc": tlx.Box((BLOCK_K, BLOCK_N)),
    }


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(
            persistent=True, grid_rank=1, split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"), crowded=True
        ),
        fingerprint="5bbfaafe933e7626",
    )
