"""A persistent matrix product: consumers share a tile's rows, either operand in either major, TMA or masked stores."""

import triton.language as tl

import tlx

from .gemm_ws import tile_of_program


@tlx.jit
def gemm_persistent(
    a_desc, b_desc, c_desc, c_ptr,
    M, N, K,
    stride_cm, stride_cn,
    PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    A_IS_KM: tl.constexpr, B_IS_NK: tl.constexpr,
    CONSUMERS: tl.constexpr, CONSUMER_WARPS: tl.constexpr, CONSUMER_REGISTERS: tl.constexpr,
    TMA_STORE: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    # A_IS_KM: A lies in memory as K x M. B_IS_NK: B lies in memory as N x K. Both are read through a transposed view.
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    dtype: tl.constexpr = tlx.dtype_of(a_desc)
    if A_IS_KM:
        a_ring = tlx.local_alloc((BLOCK_K, ROWS), dtype, STAGES * CONSUMERS)
    else:
        a_ring = tlx.local_alloc((ROWS, BLOCK_K), dtype, STAGES * CONSUMERS)
    if B_IS_NK:
        b_ring = tlx.local_alloc((BLOCK_N, BLOCK_K), dtype, STAGES)
    else:
        b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, STAGES)
    if TMA_STORE:
        c_stage = tlx.local_alloc((ROWS, BLOCK_N), tlx.dtype_of(c_desc), CONSUMERS)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    STAGE_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)

    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    k_tiles = tl.cdiv(K, BLOCK_K)

    with tlx.async_tasks():
        # Producer: runs through this program's tiles and keeps the rings filled.
        with tlx.async_task("default"):
            for tile in range(tl.program_id(0), tiles, PROGRAMS):
                m, n = tile_of_program(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
                # Tiles before this one, times their k-steps: the rings run on from tile to tile.
                count = (tile // PROGRAMS) * k_tiles
                for k in range(k_tiles):
                    slot, phase = tlx.get_bufidx_phase(count + k, STAGES)
                    tlx.barrier_wait(empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(full[slot], STAGE_BYTES)
                    for part in tl.static_range(CONSUMERS):
                        row = m * BLOCK_M + part * ROWS
                        if A_IS_KM:
                            tlx.async_descriptor_load(
                                a_desc, a_ring[slot * CONSUMERS + part], [k * BLOCK_K, row], full[slot]
                            )
                        else:
                            tlx.async_descriptor_load(
                                a_desc, a_ring[slot * CONSUMERS + part], [row, k * BLOCK_K], full[slot]
                            )
                    if B_IS_NK:
                        tlx.async_descriptor_load(b_desc, b_ring[slot], [n * BLOCK_N, k * BLOCK_K], full[slot])
                    else:
                        tlx.async_descriptor_load(b_desc, b_ring[slot], [k * BLOCK_K, n * BLOCK_N], full[slot])

        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            part: tl.constexpr = tlx.async_task_replica_id()
            for tile in range(tl.program_id(0), tiles, PROGRAMS):
                m, n = tile_of_program(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
                count = (tile // PROGRAMS) * k_tiles
                acc = tl.zeros((ROWS, BLOCK_N), tl.float32)
                for k in range(k_tiles):
                    slot, phase = tlx.get_bufidx_phase(count + k, STAGES)
                    tlx.barrier_wait(full[slot], phase)
                    a = a_ring[slot * CONSUMERS + part]
                    b = b_ring[slot]
                    if A_IS_KM:
                        a = tlx.local_trans(a)
                    if B_IS_NK:
                        b = tlx.local_trans(b)
                    acc = tlx.async_dot(a, b, acc)
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        before = (count + k - 1) % STAGES
                        tlx.barrier_arrive(empty[before])
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[(count + k_tiles - 1) % STAGES])

                row = m * BLOCK_M + part * ROWS
                if TMA_STORE:
                    # The stage may be rewritten once the store before has read it.
                    tlx.async_descriptor_store_wait(0)
                    tlx.local_store(c_stage[part], acc.to(tlx.dtype_of(c_desc)))
                    tlx.fence("async_shared")
                    tlx.async_descriptor_store(c_desc, c_stage[part], [row, n * BLOCK_N])
                else:
                    offs_m = row + tl.arange(0, ROWS)
                    offs_n = n * BLOCK_N + tl.arange(0, BLOCK_N)
                    c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
                    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
            if TMA_STORE:
                tlx.async_descriptor_store_wait(0)
