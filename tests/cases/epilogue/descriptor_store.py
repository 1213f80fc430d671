# The result goes out through a descriptor, and a bias comes in through one: neither stays.

import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, x_ptr, M, N, K, lda, ldb, ldc, ldx,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [lda, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [ldb, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [ldc, 1], [BLOCK_M, BLOCK_N])
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([row, k])
        b = b_desc.load([k, col])
        acc = tl.dot(a, b, acc)
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [ldx, 1], [BLOCK_M, BLOCK_N])
    acc += x_desc.load([row, col]).to(tl.float32)
    c_desc.store([row, col], acc.to(tl.float16))


def run(a, b, c, x):
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    kernel[grid](
        a, b, c, x, m, n, k, a.stride(0), b.stride(0), c.stride(0), x.stride(0), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32
    )
# output
@tlx.jit
def _kernel_ws(
    a_desc_2,
    b_desc_2,
    c_ptr,
    x_ptr,
    M,
    N,
    K,
    ldc,
    ldx,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # a_ring: one tile of ROWS rows per consumer group; b_ring: one tile for all.
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    a_ring = tlx.local_alloc((ROWS, BLOCK_K), tlx.dtype_of(a_desc_2), STAGES * CONSUMERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc_2), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    SLOT_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc_2))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of a and b.
        with tlx.async_task("default"):
            filled = 0
            row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
            for k in range(0, K, BLOCK_K):
                slot = filled % STAGES
                tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                for group in tl.static_range(CONSUMERS):
                    tlx.async_descriptor_load(
                        a_desc_2, a_ring[slot * CONSUMERS + group], [row + ROWS * group, k], full[slot]
                    )
                tlx.async_descriptor_load(b_desc_2, b_ring[slot], [k, col], full[slot])
                filled += 1

        # Consumers: each group multiplies its ROWS rows of every slot, hands the slot back and finishes its rows.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            used = 0
            row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
            acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                slot = used % STAGES
                tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                a = a_ring[slot * CONSUMERS + group]
                b = b_ring[slot]
                acc = tlx.async_dot(a, b, acc)
                # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                acc = tlx.async_dot_wait(1, acc)
                if k > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                used += 1
            acc = tlx.async_dot_wait(0, acc)
            loaded_rows = row + ROWS * group + tl.arange(0, ROWS)
            loaded_columns = col + tl.arange(0, BLOCK_N)
            acc += tl.load(
                x_ptr + loaded_rows[:, None].to(tl.int64) * ldx + loaded_columns[None, :].to(tl.int64),
                mask=(loaded_rows[:, None] < M) & (loaded_columns[None, :] < N),
                other=0.0,
            ).to(tl.float32)
            stored_rows = row + ROWS * group + tl.arange(0, ROWS)
            stored_columns = col + tl.arange(0, BLOCK_N)
            tl.store(
                c_ptr + stored_rows[:, None].to(tl.int64) * ldc + stored_columns[None, :].to(tl.int64),
                acc.to(tl.float16),
                mask=(stored_rows[:, None] < M) & (stored_columns[None, :] < N),
            )


def _kernel_guard(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a_2 = tlx.tma_view("a_ptr", a_ptr, shape=(M, K), strides=(lda, 1))
    tlx.require(not a_2.transposed, "stride", "a_ptr is stored column by column")
    b_2 = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(ldb, 1))
    tlx.require(not b_2.transposed, "stride", "b_ptr is stored column by column")
    tlx.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (ldc, 1), reads=(a_2, b_2))
    return {"a_desc_2": a_2, "b_desc_2": b_2}


def _kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, CONSUMERS, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {
        "a_desc_2": tlx.Box((BLOCK_M // CONSUMERS, BLOCK_K), count=CONSUMERS),
        "b_desc_2": tlx.Box((BLOCK_K, BLOCK_N)),
    }


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"), crowded=True),
        fingerprint="478f6dd918c2ac3f",
    )
