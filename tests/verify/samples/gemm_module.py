"""A conversion as verification receives it, written by hand: source, specialized kernel, guard, boxes, binding."""

import triton
import triton.language as tl

import tlx


@triton.jit
def gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    pid_m = tl.program_id(0) // tl.cdiv(N, BLOCK_N)
    pid_n = tl.program_id(0) % tl.cdiv(N, BLOCK_N)
    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "relu":
        acc = tl.maximum(acc, 0.0)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


@tlx.jit
def _gemm_ws(
    a_desc,
    b_desc,
    c_ptr,
    M,
    N,
    K,
    stride_cm,
    stride_cn,
    GRID_0,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    ACTIVATION: tl.constexpr,
    A_TRANSPOSED: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
    STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
    CONSUMER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
):
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    a_ring = tlx.local_alloc(
        (BLOCK_K, ROWS) if A_TRANSPOSED else (ROWS, BLOCK_K), tlx.dtype_of(a_desc), STAGES * CONSUMERS
    )
    b_ring = tlx.local_alloc((BLOCK_N, BLOCK_K) if B_TRANSPOSED else (BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=CONSUMERS)
    STAGE_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc))

    with tlx.async_tasks():
        # Producer: waits until the consumers gave a slot back, then has the TMA fill it.
        with tlx.async_task("default"):
            filled = 0
            for tile in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                pid_m = tile // tl.cdiv(N, BLOCK_N)
                pid_n = tile % tl.cdiv(N, BLOCK_N)
                for k in range(tl.cdiv(K, BLOCK_K)):
                    slot = filled % STAGES
                    tlx.barrier_wait(empty[slot], ((filled // STAGES) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], STAGE_BYTES)
                    for group in tl.static_range(CONSUMERS):
                        row = pid_m * BLOCK_M + ROWS * group
                        a_slot = a_ring[slot * CONSUMERS + group]
                        if A_TRANSPOSED:
                            tlx.async_descriptor_load(a_desc, a_slot, [k * BLOCK_K, row], full[slot])
                        else:
                            tlx.async_descriptor_load(a_desc, a_slot, [row, k * BLOCK_K], full[slot])
                    if B_TRANSPOSED:
                        tlx.async_descriptor_load(b_desc, b_ring[slot], [pid_n * BLOCK_N, k * BLOCK_K], full[slot])
                    else:
                        tlx.async_descriptor_load(b_desc, b_ring[slot], [k * BLOCK_K, pid_n * BLOCK_N], full[slot])
                    filled += 1

        # Consumers: each multiplies its share of the rows and stores them.
        with tlx.async_task(num_warps=CONSUMER_WARPS, registers=CONSUMER_REGISTERS, replicate=CONSUMERS):
            group: tl.constexpr = tlx.async_task_replica_id()
            used = 0
            for tile in range(tl.program_id(0), GRID_0, tl.num_programs(0)):
                pid_m = tile // tl.cdiv(N, BLOCK_N)
                pid_n = tile % tl.cdiv(N, BLOCK_N)
                acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
                for k in range(tl.cdiv(K, BLOCK_K)):
                    slot = used % STAGES
                    tlx.barrier_wait(full[slot], (used // STAGES) & 1)
                    a = a_ring[slot * CONSUMERS + group]
                    b = b_ring[slot]
                    if A_TRANSPOSED:
                        a = tlx.local_trans(a)
                    if B_TRANSPOSED:
                        b = tlx.local_trans(b)
                    acc = tlx.async_dot(a, b, acc)
                    # The dot just issued stays in flight; the one before it has retired, so its slot is free.
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        tlx.barrier_arrive(empty[(used - 1) % STAGES])
                    used += 1
                acc = tlx.async_dot_wait(0, acc)
                if K > 0:
                    tlx.barrier_arrive(empty[(used - 1) % STAGES])
                if ACTIVATION == "relu":
                    acc = tl.maximum(acc, 0.0)
                rows = pid_m * BLOCK_M + ROWS * group + tl.arange(0, ROWS)
                columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
                c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
                tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


def _gemm_guard(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, **_):
    a = tlx.tma_view("a_ptr", a_ptr, (M, K), (stride_am, stride_ak))
    b = tlx.tma_view("b_ptr", b_ptr, (K, N), (stride_bk, stride_bn))
    tlx.require_dtypes({"a_ptr": a_ptr, "b_ptr": b_ptr}, ("fp16", "bf16"))
    tlx.require_disjoint("c_ptr", c_ptr, (M, N), (stride_cm, stride_cn), reads=(a, b))
    return {"a_desc": a, "b_desc": b, "A_TRANSPOSED": a.transposed, "B_TRANSPOSED": b.transposed}


def _gemm_boxes(BLOCK_M, BLOCK_N, BLOCK_K, CONSUMERS, **_):
    return {"a_desc": tlx.Box((BLOCK_M // CONSUMERS, BLOCK_K), CONSUMERS), "b_desc": tlx.Box((BLOCK_K, BLOCK_N))}


gemm = tlx.specialized(
    gemm,
    _gemm_ws,
    guard=_gemm_guard,
    boxes=_gemm_boxes,
    schedule=tlx.Schedule(split="BLOCK_M", persistent=True, grid_rank=1, output=("BLOCK_M", "BLOCK_N")),
    fingerprint=None,
)
