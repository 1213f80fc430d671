# A wrapper chooses how far the kernel walks by a number that the kernel takes apart: each value is read by itself.

import triton
import triton.language as tl


@triton.jit
def stages_kernel(
    q_ptr, k_ptr, o_ptr, N, sq, sk, so, STAGE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):
    pid = tl.program_id(0)
    rows, d = pid * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * sq + d[None, :], mask=rows[:, None] < N, other=0.0)
    if STAGE & 2:
        first, last = 0, pid * BLOCK_M
    else:
        first, last = pid * BLOCK_M, (pid + 1) * BLOCK_M
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    for start in range(first, last, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + keys[:, None] * sk + d[None, :], mask=keys[:, None] < N, other=0.0)
        p = tl.dot(q, tl.trans(k))
        acc += tl.dot(p.to(k.dtype), k)
    tl.store(o_ptr + rows[:, None] * so + d[None, :], acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < N)


def walk(q, k, o, before):
    stage = 3 if before else 1
    grid = lambda meta: (triton.cdiv(q.shape[0], meta["BLOCK_M"]),)
    stages_kernel[grid](
        q, k, o, q.shape[0], q.stride(0), k.stride(0), o.stride(0), STAGE=stage, BLOCK_M=64, BLOCK_N=32, D=64
    )
# output
@tlx.jit
def _stages_kernel_ws(
    q_desc,
    k_desc,
    o_ptr,
    N,
    so,
    STAGE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    D: tl.constexpr,
    STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # q_ring: one tile of ROWS rows per consumer group; k_ring: one tile for all.
    # q_ring: a single slot, whose tile stays while a whole loop reads it.
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    q_ring = tlx.local_alloc((ROWS, D), tlx.dtype_of(q_desc), CONSUMERS)
    # producer → consumers: the slot holds its tiles.
    q_full = tlx.alloc_barriers(1, arrive_count=1)
    Q_BYTES: tl.constexpr = BLOCK_M * D * tlx.size_of(tlx.dtype_of(q_desc))
    k_ring = tlx.local_alloc((BLOCK_N, D), tlx.dtype_of(k_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    k_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    k_empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    K_BYTES: tl.constexpr = BLOCK_N * D * tlx.size_of(tlx.dtype_of(k_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of q and k.
        with tlx.async_task("default"):
            k_filled = 0
            pid = tl.program_id(0)
            tlx.barrier_expect_bytes(q_full[0], Q_BYTES)
            for group in tl.static_range(CONSUMERS):
                tlx.async_descriptor_load(q_desc, q_ring[group], [pid * BLOCK_M + ROWS * group, 0], q_full[0])
            if STAGE & 2:
                first, last = 0, pid * BLOCK_M
            else:
                first, last = pid * BLOCK_M, (pid + 1) * BLOCK_M
            for start in range(first, last, BLOCK_N):
                k_slot = k_filled % STAGES
                tlx.barrier_wait(k_empty[k_slot], ((k_filled // STAGES) & 1) ^ 1)
                tlx.barrier_expect_bytes(k_full[k_slot], K_BYTES)
                tlx.async_descriptor_load(k_desc, k_ring[k_slot], [start, 0], k_full[k_slot])
                k_filled += 1

        # Consumers: each group multiplies its ROWS rows of every slot, hands the slot back and finishes its rows.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            k_used = 0
            pid = tl.program_id(0)
            rows, d = pid * BLOCK_M + ROWS * group + tl.arange(0, ROWS), tl.arange(0, D)
            tlx.barrier_wait(q_full[0], 0)
            q = q_ring[group]
            if STAGE & 2:
                first, last = 0, pid * BLOCK_M
            else:
                first, last = pid * BLOCK_M, (pid + 1) * BLOCK_M
            acc = tl.zeros((ROWS, D), dtype=tl.float32)
            for start in range(first, last, BLOCK_N):
                k_slot = k_used % STAGES
                tlx.barrier_wait(k_full[k_slot], (k_used // STAGES) & 1)
                k = k_ring[k_slot]
                p = tlx.async_dot(q, tlx.local_trans(k))
                p = tlx.async_dot_wait(0, p)
                acc = tlx.async_dot(p.to(k.dtype), k, acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(k_empty[k_slot])
                k_used += 1
            tl.store(o_ptr + rows[:, None] * so + d[None, :], acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < N)


def _stages_kernel_guard(q_ptr, k_ptr, o_ptr, N, sq, sk, so, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    q = tlx.tma_view("q_ptr", q_ptr, shape=(N, None), strides=(sq, 1))
    tlx.require(not q.transposed, "stride", "q_ptr is stored column by column")
    k = tlx.tma_view("k_ptr", k_ptr, shape=(N, None), strides=(sk, 1))
    tlx.require(not k.transposed, "stride", "k_ptr is stored column by column")
    tlx.require_dtypes({"q_ptr": q_ptr, "k_ptr": k_ptr}, ("fp16", "bf16", "fp8e4nv", "fp8e5", "i8"))
    tlx.require_dtypes({"k_ptr": k_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("o_ptr", o_ptr, (N, None), (so, 1), reads=(q, k))
    return {"q_desc": q, "k_desc": k}


def _stages_kernel_boxes(BLOCK_M, D, BLOCK_N, CONSUMERS, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"q_desc": tlx.Box((BLOCK_M // CONSUMERS, D), count=CONSUMERS, stays=True), "k_desc": tlx.Box((BLOCK_N, D))}


def specialize_stages_kernel(original):
    """`original`, running _stages_kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _stages_kernel_ws,
        guard=_stages_kernel_guard,
        boxes=_stages_kernel_boxes,
        schedule=tlx.Schedule(
            split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"), products=(("BLOCK_M", "BLOCK_N"), ("BLOCK_M", "D"))
        ),
        fingerprint="874f54f3d4df913c",
    )
