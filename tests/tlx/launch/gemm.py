"""The product of kernels.py specialized by hand: persistent, either operand in either major. It compiles and runs."""

import triton
import triton.language as tl

import tlx
from tests.tlx.launch import kernels


@tlx.jit(do_not_specialize=["GRID_0"])
def matmul_ws(
    a_desc, b_desc, c_ptr,
    M, N, K,
    stride_cm, stride_cn,
    GRID_0,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    ACTIVATION: tl.constexpr,
    A_TRANSPOSED: tl.constexpr, B_TRANSPOSED: tl.constexpr,
    STAGES: tl.constexpr, CONSUMERS: tl.constexpr, CONSUMER_WARPS: tl.constexpr, CONSUMER_REGISTERS: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    dtype: tl.constexpr = tlx.dtype_of(a_desc)
    # Slots lie as the operands do in memory; the dot sees them the right way round.
    if A_TRANSPOSED:
        a_ring = tlx.local_alloc((BLOCK_K, ROWS), dtype, STAGES * CONSUMERS)
    else:
        a_ring = tlx.local_alloc((ROWS, BLOCK_K), dtype, STAGES * CONSUMERS)
    if B_TRANSPOSED:
        b_ring = tlx.local_alloc((BLOCK_N, BLOCK_K), dtype, STAGES)
    else:
        b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    STAGE_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)
    tiles_n = tl.cdiv(N, BLOCK_N)
    k_tiles = tl.cdiv(K, BLOCK_K)

    with tlx.async_tasks():
        # Producer: fills the next empty slot, for one tile of the result after another.
        with tlx.async_task("default"):
            filled = 0
            for pid in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                row = pid // tiles_n * BLOCK_M
                col = pid % tiles_n * BLOCK_N
                for k in range(k_tiles):
                    slot, phase = tlx.get_bufidx_phase(filled, STAGES)
                    tlx.barrier_wait(empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(full[slot], STAGE_BYTES)
                    for group in tl.static_range(CONSUMERS):
                        a_slot = a_ring[slot * CONSUMERS + group]
                        if A_TRANSPOSED:
                            tlx.async_descriptor_load(a_desc, a_slot, [k * BLOCK_K, row + group * ROWS], full[slot])
                        else:
                            tlx.async_descriptor_load(a_desc, a_slot, [row + group * ROWS, k * BLOCK_K], full[slot])
                    if B_TRANSPOSED:
                        tlx.async_descriptor_load(b_desc, b_ring[slot], [col, k * BLOCK_K], full[slot])
                    else:
                        tlx.async_descriptor_load(b_desc, b_ring[slot], [k * BLOCK_K, col], full[slot])
                    filled += 1

        # Consumers: each multiplies its rows of the tile and stores them.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            used = 0
            for pid in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
                for k in range(k_tiles):
                    slot, phase = tlx.get_bufidx_phase(used, STAGES)
                    tlx.barrier_wait(full[slot], phase)
                    a = a_ring[slot * CONSUMERS + group]
                    b = b_ring[slot]
                    if A_TRANSPOSED:
                        a = tlx.local_trans(a)
                    if B_TRANSPOSED:
                        b = tlx.local_trans(b)
                    acc = tlx.async_dot(a, b, acc)
                    # The dot before this one has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[(used - 1) % STAGES])
                if ACTIVATION == "twice":
                    acc = acc * 2.0
                offs_m = pid // tiles_n * BLOCK_M + group * ROWS + tl.arange(0, ROWS)
                offs_n = pid % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
                mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
                tl.store(
                    c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, acc.to(tl.float16), mask=mask
                )


SCHEDULE = tlx.Schedule(split="BLOCK_M", persistent=True, grid_rank=1, output=("BLOCK_M", "BLOCK_N"))


def bind(decorate=lambda kernel: kernel, converted=matmul_ws, **changes):
    """A fresh binding of the product to its conversion, in the decorators given."""
    settings = {
        "guard": kernels.guard,
        "boxes": kernels.boxes,
        "schedule": SCHEDULE,
        "fingerprint": tlx.fingerprint_of(kernels.matmul),
        **changes,
    }
    return tlx.specialized(decorate(triton.jit(kernels.matmul.fn)), converted, **settings)
