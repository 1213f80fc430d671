"""A persistent GEMM for Blackwell: one task loads, one multiplies into tensor memory, one stores."""

import triton.language as tl

import tlx


@tlx.jit
def tensor_gemm(
    a_desc, b_desc, c_desc, M, N, K,
    STAGES: tl.constexpr, BUFFERS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr,
    PROGRAMS: tl.constexpr, CTAS: tl.constexpr,
):  # fmt: skip
    """Persistent: one task loads, one multiplies, the default one stores; a pair of CTAs may share B."""
    a = tlx.local_alloc((ROWS, DEPTH), tlx.dtype_of(a_desc), STAGES)
    b = tlx.local_alloc((DEPTH, COLS // CTAS), tlx.dtype_of(b_desc), STAGES)
    acc = tlx.local_alloc((ROWS, COLS), tl.float32, BUFFERS, tlx.storage_kind.tmem)
    stage = tlx.local_alloc((ROWS, COLS), tl.float16, 1)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    done = tlx.alloc_barriers(BUFFERS)
    free = tlx.alloc_barriers(BUFFERS)
    pair = tlx.alloc_barriers(STAGES, arrive_count=CTAS)
    tiles_m = tl.cdiv(M, ROWS)
    tiles = tiles_m * tl.cdiv(N, COLS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            turn = 0
            for tile in range(tl.program_id(0), tiles, PROGRAMS):
                slot, phase = tlx.get_bufidx_phase(turn, BUFFERS)
                tlx.barrier_wait(done[slot], phase)
                left = tlx.local_load(tlx.subslice(acc[slot], 0, COLS // 2))
                right = tlx.local_load(tlx.local_slice(acc[slot], [0, COLS // 2], [ROWS, COLS // 2]))
                tlx.barrier_arrive(free[slot])
                tlx.async_descriptor_store_wait(0)
                tlx.local_store(tlx.local_slice(stage[0], [0, 0], [ROWS, COLS // 2]), left.to(tl.float16))
                tlx.local_store(tlx.local_slice(stage[0], [0, COLS // 2], [ROWS, COLS // 2]), right.to(tl.float16))
                tlx.fence("async_shared")
                tlx.async_descriptor_store(c_desc, stage[0], [tile % tiles_m * ROWS, tile // tiles_m * COLS])
                turn += 1  # noqa: SIM113 - a kernel has no enumerate
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1):
            rank = tlx.cluster_cta_rank()
            step = 0
            turn = 0
            for _ in range(tl.program_id(0), tiles, PROGRAMS):
                slot, phase = tlx.get_bufidx_phase(turn, BUFFERS)
                tlx.barrier_wait(free[slot], phase ^ 1)
                for k in range(tl.cdiv(K, DEPTH)):
                    ring, ring_phase = tlx.get_bufidx_phase(step, STAGES)
                    tlx.barrier_wait(full[ring], ring_phase)
                    if CTAS == 2:
                        tlx.barrier_arrive(pair[ring], remote_cta_rank=rank & ~1)
                        tlx.barrier_wait(pair[ring], ring_phase, pred=rank % 2 == 0)
                    tlx.async_dot(
                        a[ring], b[ring], acc[slot], use_acc=k > 0, mBarriers=[empty[ring]], two_ctas=CTAS == 2
                    )
                    step += 1
                tlx.tcgen05_commit(done[slot], two_ctas=CTAS == 2)
                turn += 1  # noqa: SIM113
        with tlx.async_task(num_warps=1):
            rank = tlx.cluster_cta_rank()
            step = 0
            for tile in range(tl.program_id(0), tiles, PROGRAMS):
                for k in range(tl.cdiv(K, DEPTH)):
                    ring, ring_phase = tlx.get_bufidx_phase(step, STAGES)
                    tlx.barrier_wait(empty[ring], ring_phase ^ 1)
                    size: tl.constexpr = tlx.size_of(tlx.dtype_of(a_desc))
                    tlx.barrier_expect_bytes(full[ring], (ROWS + COLS // CTAS) * DEPTH * size)
                    column = tile // tiles_m * COLS + rank * (COLS // CTAS)
                    tlx.async_descriptor_load(a_desc, a[ring], [tile % tiles_m * ROWS, k * DEPTH], full[ring])
                    tlx.async_descriptor_load(b_desc, b[ring], [k * DEPTH, column], full[ring])
                    step += 1
