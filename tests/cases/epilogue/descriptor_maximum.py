# Programs keep the larger of what is there and what they have: pointers cannot do that with 16 bits, so the descriptor stays.

import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc,
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
    # Outside of the tensor nothing happens.
    c_desc.atomic_max([row, col], acc.to(tl.float16))


def run(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    kernel[grid](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32
    )
# output
@tlx.jit(do_not_specialize=["GRID_0", "GRID_1"])
def _kernel_ws(
    a_desc_2,
    b_desc_2,
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
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc_2), STAGES)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc_2), STAGES)
    # producer → consumers: the slot holds its tiles.
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    # consumers → producer: the slot may be overwritten.
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    SLOT_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc_2))

    with tlx.async_tasks():
        # Producer: waits until the consumers have freed a slot, then has the TMA fill it with tiles of a and b.
        with tlx.async_task("default"):
            filled = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                row, col = (tile % GRID_0) * BLOCK_M, (tile // GRID_0) * BLOCK_N
                for k in range(0, K, BLOCK_K):
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                    tlx.async_descriptor_load(a_desc_2, a_ring[slot], [row, k], full[slot])
                    tlx.async_descriptor_load(b_desc_2, b_ring[slot], [k, col], full[slot])
                    filled += 1

        # Consumer: multiplies from each slot, hands it back and finishes the tile.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS):
            used = 0
            for tile in range(tl.program_id(0), GRID_0 * GRID_1, tl.num_programs(0)):
                row, col = (tile % GRID_0) * BLOCK_M, (tile // GRID_0) * BLOCK_N
                c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [ldc, 1], [BLOCK_M, BLOCK_N])
                acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for k in range(0, K, BLOCK_K):
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
                # Outside of the tensor nothing happens.
                c_desc.atomic_max([row, col], acc.to(tl.float16))


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


def _kernel_boxes(BLOCK_M, BLOCK_K, BLOCK_N, **_):
    """One slot's TMA box per descriptor, in elements, axes in the order of the guard's views."""
    return {"a_desc_2": tlx.Box((BLOCK_M, BLOCK_K)), "b_desc_2": tlx.Box((BLOCK_K, BLOCK_N))}


def specialize_kernel(original):
    """`original`, running _kernel_ws wherever the guard allows it."""
    return tlx.specialized(
        original,
        _kernel_ws,
        guard=_kernel_guard,
        boxes=_kernel_boxes,
        schedule=tlx.Schedule(persistent=True, grid_rank=2, output=("BLOCK_M", "BLOCK_N")),
        fingerprint="87b374660651ee2b",
    )
