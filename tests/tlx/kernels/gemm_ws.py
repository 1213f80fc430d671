"""A warp-specialized matrix product as a TLX author writes it: one producer, two consumer groups, rings between
them.
"""

import triton
import triton.language as tl

import tlx


@triton.jit
def tile_of_program(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Which tile of the result program ``pid`` computes: groups of GROUP_M tile rows, so that tiles of B stay in L2."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    per_group = GROUP_M * tiles_n
    first_m = (pid // per_group) * GROUP_M
    rows = min(tiles_m - first_m, GROUP_M)
    return first_m + (pid % per_group) % rows, (pid % per_group) // rows


@tlx.jit
def gemm_ws(
    a_desc, b_desc, c_ptr,
    M, N, K,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    # Each stage holds one tile of A, as two halves of its rows, and one tile of B.
    HALF_M: tl.constexpr = BLOCK_M // 2
    a_ring = tlx.local_alloc((HALF_M, BLOCK_K), tlx.dtype_of(a_desc), STAGES * 2)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)  # the producer announces the bytes of a stage
    empty = tlx.alloc_barriers(STAGES, arrive_count=2)  # each consumer group gives the stage back
    STAGE_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc))

    with tlx.async_tasks():
        # Producer: keeps the rings filled.
        with tlx.async_task("default"):
            pid_m, pid_n = tile_of_program(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
            for k in range(tl.cdiv(K, BLOCK_K)):
                slot = k % STAGES
                phase = (k // STAGES) & 1
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], STAGE_BYTES)
                tlx.async_descriptor_load(a_desc, a_ring[slot], [pid_m * BLOCK_M, k * BLOCK_K], full[slot])
                tlx.async_descriptor_load(
                    a_desc, a_ring[slot + STAGES], [pid_m * BLOCK_M + HALF_M, k * BLOCK_K], full[slot]
                )
                tlx.async_descriptor_load(b_desc, b_ring[slot], [k * BLOCK_K, pid_n * BLOCK_N], full[slot])

        # Consumers: each multiplies half of the rows and writes them.
        with tlx.async_task(num_warps=4, registers=232, replicate=2):
            half: tl.constexpr = tlx.async_task_replica_id()
            pid_m, pid_n = tile_of_program(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
            acc = tl.zeros((HALF_M, BLOCK_N), dtype=tl.float32)
            for k in range(tl.cdiv(K, BLOCK_K)):
                slot = k % STAGES
                phase = (k // STAGES) & 1
                tlx.barrier_wait(full[slot], phase)
                acc = tlx.async_dot(a_ring[slot + STAGES * half], b_ring[slot], acc)
                # One product stays in flight; its predecessor has retired, so the stage before this one is free.
                acc = tlx.async_dot_wait(1, acc)
                if k > 0:
                    tlx.barrier_arrive(empty[(k - 1) % STAGES])
            acc = tlx.async_dot_wait(0, acc)

            if ACTIVATION == "leaky_relu":
                acc = tl.where(acc >= 0, acc, 0.01 * acc)
            c = acc.to(c_ptr.dtype.element_ty)
            offs_m = pid_m * BLOCK_M + HALF_M * half + tl.arange(0, HALF_M)
            offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
            c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
            tl.store(c_ptrs, c, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
