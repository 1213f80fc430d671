"""A matrix product whose consumers are the kernel's own warps, and whose producer is a single extra warp."""

import triton.language as tl

import tlx

from .gemm_ws import tile_of_program


@tlx.jit
def gemm_default_consumers(
    a_desc, b_desc, c_ptr,
    M, N, K,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    CONSUMERS: tl.constexpr, PRODUCER_REGISTERS: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    dtype: tl.constexpr = tlx.dtype_of(a_desc)
    a_ring = tlx.local_alloc((ROWS, BLOCK_K), dtype, STAGES * CONSUMERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    STAGE_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)
    # Scalars may be computed once, for all tasks.
    pid_m, pid_n = tile_of_program(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    k_tiles = tl.cdiv(K, BLOCK_K)

    with tlx.async_tasks():
        with tlx.async_task("default", replicate=CONSUMERS):
            part: tl.constexpr = tlx.async_task_replica_id()
            acc = tl.zeros((ROWS, BLOCK_N), tl.float32)
            for k in range(k_tiles):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                acc = tlx.async_dot(a_ring[slot * CONSUMERS + part], b_ring[slot], acc)
                acc = tlx.async_dot_wait(1, acc)
                if k > 0:
                    tlx.barrier_arrive(empty[(k - 1) % STAGES])
            acc = tlx.async_dot_wait(0, acc)
            offs_m = pid_m * BLOCK_M + part * ROWS + tl.arange(0, ROWS)
            offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
            c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
            tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))

        with tlx.async_task(num_warps=1, registers=PRODUCER_REGISTERS):
            for k in range(k_tiles):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], STAGE_BYTES)
                for part in tl.static_range(CONSUMERS):
                    row = pid_m * BLOCK_M + part * ROWS
                    tlx.async_descriptor_load(a_desc, a_ring[slot * CONSUMERS + part], [row, k * BLOCK_K], full[slot])
                tlx.async_descriptor_load(b_desc, b_ring[slot], [k * BLOCK_K, pid_n * BLOCK_N], full[slot])
