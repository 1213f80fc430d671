# A block with an axis of one element is summed along it: registers hold the block with that axis.

import triton
import triton.language as tl


@triton.jit
def packed_kernel(
    q_ptr, k_ptr, o_ptr, T, H, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    q_desc = tl.make_tensor_descriptor(q_ptr, [T, H, D], [H * D, D, 1], [BLOCK_M, 1, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [T, H, D], [H * D, D, 1], [BLOCK_N, 1, D])
    q3 = q_desc.load([start, head, 0])
    q = tl.sum(q3, 1)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    for first in range(0, T, BLOCK_N):
        k = k_desc.load([first, head, 0]).reshape(BLOCK_N, D)
        weights = tl.dot(q, k.T)
        acc += tl.dot(weights.to(k.dtype), k)
    rows = start + tl.arange(0, BLOCK_M)
    out = o_ptr + rows[:, None] * (H * D) + head * D + tl.arange(0, D)[None, :]
    tl.store(out, acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < T)


def packed(q, k, o):
    tokens, heads, width = q.shape
    packed_kernel[(triton.cdiv(tokens, 64), heads)](q, k, o, tokens, heads, BLOCK_M=64, BLOCK_N=64, D=width)
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _packed_kernel_ws(
    q_desc_2,
    k_desc_2,
    o_ptr,
    T,
    H,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
    GRID_0,
    GRID_1,
    STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):  # fmt: skip
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # q3_ring: one tile of ROWS rows per consumer group; k_ring: one tile for all.
    # q3_ring: a single slot, whose tile stays while a whole loop reads it.
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    q3_ring = tlx.local_alloc((ROWS, D), tlx.dtype_of(q_desc_2), CONSUMERS)
    # producer → consumers: the slot holds its tiles.
    q3_full = tlx.alloc_barriers(1, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    q3_empty = tlx.alloc_barriers(1, arrive_count=CONSUMERS)
    Q3_BYTES: tl.constexpr = BLOCK_M * D * tlx.size_of(tlx.dtype_of(q_desc_2))
    k_ring = tlx.local_alloc((BLOCK_N, D), tlx.dtype_of(k_desc_2), STAGES)
    # producer → consumers: the slot holds its tiles.
    k_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    k_empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    K_BYTES: tl.constexpr = BLOCK_N * D * tlx.size_of(tlx.dtype_of(k_desc_2))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of q3 and k.
        with tlx.async_task("default"):
            q3_filled = 0
            k_filled = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                start = (tile % GRID_0) * BLOCK_M
                head = tile // GRID_0
                tlx.barrier_wait(q3_empty[0], (q3_filled & 1) ^ 1)
                tlx.barrier_expect_bytes(q3_full[0], Q3_BYTES)
                for group in tl.static_range(CONSUMERS):
                    tlx.async_descriptor_load(q_desc_2, q3_ring[group], [head, start + ROWS * group, 0], q3_full[0])
                q3_filled += 1
                for first in range(0, T, BLOCK_N):
                    k_slot = k_filled % STAGES
                    tlx.barrier_wait(k_empty[k_slot], ((k_filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(k_full[k_slot], K_BYTES)
                    tlx.async_descriptor_load(k_desc_2, k_ring[k_slot], [head, first, 0], k_full[k_slot])
                    k_filled += 1

        # Consumers: each group multiplies its ROWS rows of every slot, hands the slot back and finishes its rows.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            q3_used = 0
            k_used = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                start = (tile % GRID_0) * BLOCK_M
                head = tile // GRID_0
                tlx.barrier_wait(q3_full[0], q3_used & 1)
                q3 = tlx.local_load(q3_ring[group]).reshape(ROWS, 1, D)
                tlx.fence_async_shared()
                tlx.barrier_arrive(q3_empty[0])
                q3_used += 1
                q = tl.sum(q3, 1)
                acc = tl.zeros((ROWS, D), dtype=tl.float32)
                for first in range(0, T, BLOCK_N):
                    k_slot = k_used % STAGES
                    tlx.barrier_wait(k_full[k_slot], (k_used // STAGES) & 1)
                    k = k_ring[k_slot]
                    weights = tlx.async_dot(q, tlx.local_trans(k))
                    weights = tlx.async_dot_wait(0, weights)
                    acc = tlx.async_dot(weights.to(k.dtype), k, acc)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(k_empty[k_slot])
                    k_used += 1
                rows = start + ROWS * group + tl.arange(0, ROWS)
                out = o_ptr + rows[:, None] * (H * D) + head * D + tl.arange(0, D)[None, :]
                tl.store(out, acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < T)


def _packed_kernel_guard(q_ptr, k_ptr, o_ptr, T, H, D, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    q_2 = tlx.tma_view("q_ptr", q_ptr, shape=(H, T, D), strides=(D, H * D, 1))
    tlx.require(not q_2.transposed, "stride", "q_ptr is stored column by column")
    k_2 = tlx.tma_view("k_ptr", k_ptr, shape=(H, T, D), strides=(D, H * D, 1))
    tlx.require(not k_2.transposed, "stride", "k_ptr is stored column by column")
    tlx.require_dtypes({"k_ptr": k_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("o_ptr", o_ptr, (T, None), (H * D, 1), reads=(q_2, k_2))
    return {"q_desc_2": q_2, "k_desc_2": k_2}


def _packed_kernel_boxes(BLOCK_M, D, BLOCK_N, CONSUMERS, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {
        "q_desc_2": tlx.Box((1, BLOCK_M // CONSUMERS, D), count=CONSUMERS, stays=True),
        "k_desc_2": tlx.Box((1, BLOCK_N, D)),
    }


def specialize_packed_kernel(original):
    """`original`, running _packed_kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _packed_kernel_ws,
        guard=_packed_kernel_guard,
        boxes=_packed_kernel_boxes,
        schedule=tlx.Schedule(
            persistent=True,
            grid_rank=2,
            split="BLOCK_M",
            output=("BLOCK_M", "BLOCK_N"),
            products=(("BLOCK_M", "BLOCK_N"), ("BLOCK_M", "D")),
        ),
        fingerprint="6be5af4de0c64b80",
    )
