"""Attention without a mask, warp-specialized: the probabilities go from one product to the next in registers."""

import triton.language as tl

import tlx


@tlx.jit
def attention_ws(
    q_desc, k_desc, v_desc, out_desc,
    qk_scale,
    N_CTX,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr, GROUPS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    # All tensors are (batch * heads * N_CTX) x HEAD; qk_scale already holds log2(e).
    ROWS: tl.constexpr = BLOCK_M // GROUPS
    dtype: tl.constexpr = tlx.dtype_of(q_desc)
    SIZE: tl.constexpr = tlx.size_of(dtype)
    q_tiles = tlx.local_alloc((ROWS, HEAD), dtype, GROUPS)
    k_ring = tlx.local_alloc((BLOCK_N, HEAD), dtype, STAGES)
    v_ring = tlx.local_alloc((BLOCK_N, HEAD), dtype, STAGES)
    q_full = tlx.alloc_barriers(GROUPS)
    k_full = tlx.alloc_barriers(STAGES)
    k_empty = tlx.alloc_barriers(STAGES, arrive_count=GROUPS)
    v_full = tlx.alloc_barriers(STAGES)
    v_empty = tlx.alloc_barriers(STAGES, arrive_count=GROUPS)

    base = tl.program_id(1) * N_CTX
    first_row = base + tl.program_id(0) * BLOCK_M

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for group in tl.static_range(GROUPS):
                tlx.barrier_expect_bytes(q_full[group], ROWS * HEAD * SIZE)
                tlx.async_descriptor_load(q_desc, q_tiles[group], [first_row + group * ROWS, 0], q_full[group])
            for i in range(tl.cdiv(N_CTX, BLOCK_N)):
                slot, phase = tlx.get_bufidx_phase(i, STAGES)
                tlx.barrier_wait(k_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(k_full[slot], BLOCK_N * HEAD * SIZE)
                tlx.async_descriptor_load(k_desc, k_ring[slot], [base + i * BLOCK_N, 0], k_full[slot])
                tlx.barrier_wait(v_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(v_full[slot], BLOCK_N * HEAD * SIZE)
                tlx.async_descriptor_load(v_desc, v_ring[slot], [base + i * BLOCK_N, 0], v_full[slot])

        with tlx.async_task(num_warps=4, registers=232, replicate=GROUPS):
            group: tl.constexpr = tlx.async_task_replica_id()
            highest = tl.full((ROWS,), float("-inf"), tl.float32)
            total = tl.zeros((ROWS,), tl.float32)
            acc = tl.zeros((ROWS, HEAD), tl.float32)
            tlx.barrier_wait(q_full[group], 0)
            for i in range(tl.cdiv(N_CTX, BLOCK_N)):
                slot, phase = tlx.get_bufidx_phase(i, STAGES)
                tlx.barrier_wait(k_full[slot], phase)
                qk = tlx.async_dot(q_tiles[group], tlx.local_trans(k_ring[slot]))
                qk = tlx.async_dot_wait(0, qk)
                tlx.barrier_arrive(k_empty[slot])
                now = tl.maximum(highest, tl.max(qk, 1) * qk_scale)
                p = tl.math.exp2(qk * qk_scale - now[:, None])
                correction = tl.math.exp2(highest - now)
                total = total * correction + tl.sum(p, 1)
                acc = acc * correction[:, None]
                highest = now
                tlx.barrier_wait(v_full[slot], phase)
                acc = tlx.async_dot(p.to(dtype), v_ring[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(v_empty[slot])
            acc = acc / total[:, None]
            out_desc.store([first_row + group * ROWS, 0], acc.to(tlx.dtype_of(out_desc)))
