"""A warp-specialized GEMM for Hopper in which pairs of CTAs share the tiles of B."""

import triton.language as tl

import tlx


@tlx.jit
def multicast_gemm(a_desc, b_desc, c_desc, K, STAGES: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """A pair of CTAs shares a column of tiles of B: each loads half of it for both."""
    a = tlx.local_alloc((ROWS, ROWS), tl.float16, STAGES)
    b = tlx.local_alloc((ROWS, COLS), tl.float16, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    ready = tlx.alloc_barriers(STAGES, arrive_count=2)
    half: tl.constexpr = COLS // 2
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            for k in range(tl.cdiv(K, ROWS)):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * ROWS * (ROWS + COLS))
                tlx.async_descriptor_load(a_desc, a[slot], [tl.program_id(0) * ROWS, k * ROWS], full[slot])
                tlx.barrier_arrive(ready[slot])
                tlx.barrier_arrive(ready[slot], remote_cta_rank=rank ^ 1)
                tlx.barrier_wait(ready[slot], phase)
                part = tlx.local_slice(b[slot], [0, rank * half], [ROWS, half])
                column = tl.program_id(1) * COLS + rank * half
                tlx.async_descriptor_load(b_desc, part, [k * ROWS, column], full[slot], multicast_targets=[0, 1])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((ROWS, COLS), tl.float32)
            for k in range(tl.cdiv(K, ROWS)):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            c_desc.store([tl.program_id(0) * ROWS, tl.program_id(1) * COLS], acc.to(tl.float16))
