# A kernel asks for its platform, and programs take turns along K: both the answer and the number of turns are known.

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "TURNS": 1}, num_warps=8, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "TURNS": 4}, num_warps=8, num_stages=3),
    ],
    key=["M", "N", "K"],
    reset_to_zero=["c_ptr"],
)
@triton.jit
def shared_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, TURNS: tl.constexpr,
):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(tl.program_id(2) * BLOCK_K, K, BLOCK_K * TURNS):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + m[:, None] * lda + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * ldb + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    c = c_ptr + m[:, None] * ldc + n[None, :]
    mask = (m[:, None] < M) & (n[None, :] < N)
    if TURNS == 1:
        tl.store(c, acc, mask=mask)
    elif tl.constexpr(torch.version.hip is not None):
        tl.atomic_add(c, acc, mask=mask, sem="relaxed")
    else:
        tl.atomic_add(c, acc, mask=mask)

# output
@tlx.jit
def _shared_kernel_ws(
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
    TURNS: tl.constexpr,
    STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    # Rings of STAGES slots, filled by the producer and freed by the consumers.
    # a_ring: one tile of ROWS rows per consumer group; b_ring: one tile for all.
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    a_ring = tlx.local_alloc((ROWS, BLOCK_K), tlx.dtype_of(a_desc), STAGES * CONSUMERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    SLOT_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of a and b.
        with tlx.async_task("default"):
            filled = 0
            for start in range(tl.program_id(2) * BLOCK_K, K, BLOCK_K * TURNS):
                slot = filled % STAGES
                tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                for group in tl.static_range(CONSUMERS):
                    tlx.async_descriptor_load(
                        a_desc,
                        a_ring[slot * CONSUMERS + group],
                        [tl.program_id(0) * BLOCK_M + ROWS * group, start],
                        full[slot],
                    )
                tlx.async_descriptor_load(b_desc, b_ring[slot], [start, tl.program_id(1) * BLOCK_N], full[slot])
                filled += 1

        # Consumers: each group multiplies its ROWS rows of every slot, hands the slot back and finishes its rows.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            used = 0
            m = tl.program_id(0) * BLOCK_M + ROWS * group + tl.arange(0, ROWS)
            n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
            for start in range(tl.program_id(2) * BLOCK_K, K, BLOCK_K * TURNS):
                slot = used % STAGES
                tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                a = a_ring[slot * CONSUMERS + group]
                b = b_ring[slot]
                acc = tlx.async_dot(a, b, acc)
                # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                acc = tlx.async_dot_wait(1, acc)
                if start > tl.program_id(2) * BLOCK_K:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                used += 1
            acc = tlx.async_dot_wait(0, acc)
            c = c_ptr + m[:, None] * ldc + n[None, :]
            mask = (m[:, None] < M) & (n[None, :] < N)
            if TURNS == 1:
                tl.store(c, acc, mask=mask)
            elif not tl.constexpr(torch.version.hip is not None):
                tl.atomic_add(c, acc, mask=mask)


def _shared_kernel_guard(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, **_):
    """The specialized launch's own arguments; where a check fails, tlx.Fallback: the original kernel runs."""
    a = tlx.tma_view("a_ptr", a_ptr, shape=(M, K), strides=(lda, 1))
    tlx.require(not a.transposed, "stride", "a_ptr is stored column by column")
    b = tlx.tma_view("b_ptr", b_ptr, shape=(K, N), strides=(ldb, 1))
    tlx.require(not b.transposed, "stride", "b_ptr is stored column by column")
    tlx.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    # The producer reads ahead of the stores: what is written must not overlap what it reads.
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (ldc, 1), reads=(a, b))
    return {"a_desc": a, "b_desc": b}


def _shared_kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, CONSUMERS, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"a_desc": tlx.Box((BLOCK_M // CONSUMERS, BLOCK_K), count=CONSUMERS), "b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


def _shared_kernel_programs(M, N, BLOCK_M, BLOCK_N, **_):
    """How many programs the grid must have along each axis, under tiles that the source does not list."""
    return (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N), None)


def specialize_shared_kernel(original):
    """`original`, running _shared_kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _shared_kernel_ws,
        guard=_shared_kernel_guard,
        boxes=_shared_kernel_boxes,
        schedule=tlx.Schedule(
            split="BLOCK_M",
            output=("BLOCK_M", "BLOCK_N"),
            # Tiles that the source does not list, tried where its grid follows them.
            configs=[
                {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "TURNS": 1, "num_warps": 8, "num_stages": 4},
                {"BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": 64, "TURNS": 1, "num_warps": 8, "num_stages": 4},
            ],
            programs=_shared_kernel_programs,
        ),
        fingerprint="d9d108bdff585a61",
    )
