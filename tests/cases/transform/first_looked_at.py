# The first operand is used for something else besides: it is read in place, and loaded into registers as well.
# flags: --ungated

import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, w_ptr, c_ptr, M, N, K, stride_am, stride_wk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_m, in_n = offs_m[:, None] < M, offs_n[None, :] < N
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        ks = k * BLOCK_K + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + ks[None, :], mask=in_m & (ks[None, :] < K), other=0.0)
        w = tl.load(w_ptr + ks[:, None] * stride_wk + offs_n[None, :], mask=in_n & (ks[:, None] < K), other=0)
        total += tl.sum(a.to(tl.float32), axis=1)
        acc = tl.dot(a, w.to(a.dtype), acc)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, (acc + total[:, None]).to(c_ptr.dtype.element_ty), mask=in_m & in_n)
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _kernel_ws(
    a_desc,
    w_desc,
    c_ptr,
    M,
    N,
    K,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GRID_0,
    GRID_1,
    STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
    TRANSFORM_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # a_ring: one tile of ROWS rows per consumer group; w_ring: one tile for all.
    # w_ring: freed by the transform, which fills operand_ring from it.
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    a_ring = tlx.local_alloc((ROWS, BLOCK_K), tlx.dtype_of(a_desc), STAGES * CONSUMERS)
    # producer → consumers: the slot holds its tiles.
    a_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    a_empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    A_BYTES: tl.constexpr = BLOCK_M * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc))
    w_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(w_desc), STAGES)
    # producer → transform: the slot holds its tiles.
    w_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # transform → producer: the slot may be overwritten.
    w_empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    W_BYTES: tl.constexpr = BLOCK_K * BLOCK_N * tlx.size_of(tlx.dtype_of(w_desc))
    operand_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(a_desc), STAGES)
    # transform → consumers: the slot holds its block.
    operand_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → transform: the slot may be overwritten.
    operand_empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of a and w.
        with tlx.async_task("default"):
            a_filled = 0
            w_filled = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                for k in range(0, tl.cdiv(K, BLOCK_K)):
                    a_slot = a_filled % STAGES
                    tlx.barrier_wait(a_empty[a_slot], ((a_filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(a_full[a_slot], A_BYTES)
                    for group in tl.static_range(CONSUMERS):
                        tlx.async_descriptor_load(
                            a_desc,
                            a_ring[a_slot * CONSUMERS + group],
                            [(tile % GRID_0) * BLOCK_M + ROWS * group, k * BLOCK_K],
                            a_full[a_slot],
                        )
                    a_filled += 1
                    w_slot = w_filled % STAGES
                    tlx.barrier_wait(w_empty[w_slot], ((w_filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(w_full[w_slot], W_BYTES)
                    tlx.async_descriptor_load(
                        w_desc, w_ring[w_slot], [k * BLOCK_K, (tile // GRID_0) * BLOCK_N], w_full[w_slot]
                    )
                    w_filled += 1

        # Transform: computes the second operand from w, into slots of operand_ring.
        with tlx.async_task(num_warps=4, registers=TRANSFORM_REGISTERS):
            w_used = 0
            operand_filled = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                for k in range(0, tl.cdiv(K, BLOCK_K)):
                    w_slot = w_used % STAGES
                    tlx.barrier_wait(w_full[w_slot], (w_used // STAGES) & 1)
                    w = tlx.local_load(w_ring[w_slot])
                    tlx.fence_async_shared()
                    tlx.barrier_arrive(w_empty[w_slot])
                    w_used += 1
                    operand_slot = operand_filled % STAGES
                    tlx.barrier_wait(operand_empty[operand_slot], ((operand_filled // STAGES) & 1) ^ 1)
                    tlx.local_store(operand_ring[operand_slot], w.to(tlx.dtype_of(a_desc)))
                    # What threads have written, the tensor cores read behind a fence.
                    tlx.fence_async_shared()
                    tlx.barrier_arrive(operand_full[operand_slot])
                    operand_filled += 1

        # Consumers: each group multiplies its ROWS rows of every slot, hands the slot back and finishes its rows.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            a_used = 0
            operand_used = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                offs_m = (tile % GRID_0) * BLOCK_M + ROWS * group + tl.arange(0, ROWS)
                offs_n = (tile // GRID_0) * BLOCK_N + tl.arange(0, BLOCK_N)
                in_m, in_n = offs_m[:, None] < M, offs_n[None, :] < N
                total = tl.zeros((ROWS,), dtype=tl.float32)
                acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
                for k in range(0, tl.cdiv(K, BLOCK_K)):
                    a_slot = a_used % STAGES
                    tlx.barrier_wait(a_full[a_slot], (a_used // STAGES) & 1)
                    a_tile = a_ring[a_slot * CONSUMERS + group]
                    a = tlx.local_load(a_tile)
                    total += tl.sum(a.to(tl.float32), axis=1)
                    operand_slot = operand_used % STAGES
                    tlx.barrier_wait(operand_full[operand_slot], (operand_used // STAGES) & 1)
                    acc = tlx.async_dot(a_tile, operand_ring[operand_slot], acc)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(operand_empty[operand_slot])
                    operand_used += 1
                    tlx.fence_async_shared()
                    tlx.barrier_arrive(a_empty[a_slot])
                    a_used += 1
                c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]
                tl.store(c_ptrs, (acc + total[:, None]).to(c_ptr.dtype.element_ty), mask=in_m & in_n)


def _kernel_guard(a_ptr, w_ptr, c_ptr, M, N, K, stride_am, stride_wk, stride_cm, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.tma_view("a_ptr", a_ptr, shape=(M, K), strides=(stride_am, 1))
    tlx.require(not a.transposed, "stride", "a_ptr is stored column by column")
    w = tlx.tma_view("w_ptr", w_ptr, shape=(K, N), strides=(stride_wk, 1))
    tlx.require(not w.transposed, "stride", "w_ptr is stored column by column")
    tlx.require_dtypes({"a_ptr": a_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (stride_cm, 1), reads=(a, w))
    return {"a_desc": a, "w_desc": w}


def _kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, CONSUMERS, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {
        "a_desc": tlx.Box((BLOCK_M // CONSUMERS, BLOCK_K), count=CONSUMERS),
        "w_desc": tlx.Box((BLOCK_K, BLOCK_N)),
        "operand_ring": tlx.Box((BLOCK_K, BLOCK_N), like="a_desc"),
    }


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=2, split="BLOCK_M", output=("BLOCK_M", "BLOCK_N")),
        fingerprint="522e08bb90947c8b",
    )
