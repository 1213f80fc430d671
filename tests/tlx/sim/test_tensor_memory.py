"""Blackwell: products into tensor memory, copies, commits, two CTAs, scales and launch control, on every schedule."""

import ml_dtypes
import numpy as np
import pytest
import triton.language as tl

import tlx

from .kernels.tensor_gemm import tensor_gemm
from .launch import SCHEDULES, descriptor, padded


def run_gemm(schedule, k, ctas, dtype):
    rng = np.random.default_rng(0)
    m, n = 64, 64
    a, b = padded(rng, m, k, dtype), padded(rng, k, n, dtype)
    c = np.full((m, n), np.nan, np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 32 // ctas]), descriptor(c, [16, 32]), m, n, k)
    sizes = {"STAGES": 3, "BUFFERS": 2, "ROWS": 16, "COLS": 32, "DEPTH": 16, "PROGRAMS": 2, "CTAS": ctas}
    report = tlx.sim.run(tensor_gemm, (2,), args, {**sizes, "ctas_per_cga": (ctas, 1, 1)}, schedule=schedule)
    report.raise_for_findings()
    return c, a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("k", [16, 40, 16 * 7])
def test_gemm(schedule, ctas, k):
    c, wanted = run_gemm(schedule, k, ctas, np.float16)
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=8e-3)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_gemm_of_other_types(dtype):
    c, wanted = run_gemm(5, 48, 1, dtype)
    np.testing.assert_allclose(c, wanted, rtol=2e-3, atol=8e-3)


@tlx.jit
def product_of_a_copy(x, out, SIZE: tl.constexpr):
    """A goes through registers into tensor memory, the accumulator is set by a copy from shared memory."""
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    left = tlx.local_alloc((SIZE, SIZE), tl.float16, 1, tlx.storage_kind.tmem)
    right = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    start = tlx.local_alloc((SIZE, SIZE), tl.float32, 1)
    acc = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(1)
    tile = tl.load(x + at)
    tlx.local_store(left[0], tile)
    tlx.local_store(right[0], tile)
    tlx.local_store(start[0], tile.to(tl.float32))
    tlx.fence("async_shared")
    tlx.tmem_copy(start[0], acc[0])
    tlx.async_dot(left[0], tlx.local_trans(right[0]), acc[0], mBarriers=[done[0]])
    tlx.barrier_wait(done[0], 0)
    tl.store(out + at, tlx.local_load(acc[0]))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_copies_and_products_are_in_order(schedule):
    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float16)
    out = np.zeros((16, 16), np.float32)
    tlx.sim.run(product_of_a_copy, (1,), (x, out, 16), schedule=schedule).raise_for_findings()
    np.testing.assert_allclose(out, x.astype(np.float32) @ x.T.astype(np.float32) + x, rtol=1e-5)


@tlx.jit
def scaled(
    a_desc, b_desc, a_scale, b_scale, out,
    ROWS: tl.constexpr, DEPTH: tl.constexpr, FORM: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    a = tlx.local_alloc((ROWS, DEPTH // PACKED), tlx.dtype_of(a_desc), 1)
    b = tlx.local_alloc((ROWS, DEPTH // PACKED), tlx.dtype_of(b_desc), 1)
    scales = tlx.local_alloc((ROWS, DEPTH // 32), tl.uint8, 2)
    acc = tlx.local_alloc((ROWS, ROWS), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 2 * ROWS * (DEPTH // PACKED))
    tlx.async_descriptor_load(a_desc, a[0], [0, 0], full[0])
    tlx.async_descriptor_load(b_desc, b[0], [0, 0], full[0])
    at = tl.arange(0, ROWS)[:, None] * (DEPTH // 32) + tl.arange(0, DEPTH // 32)[None, :]
    tlx.local_store(scales[0], tl.load(a_scale + at))
    tlx.local_store(scales[1], tl.load(b_scale + at))
    tlx.fence("async_shared")
    tlx.barrier_wait(full[0], 0)
    tlx.async_dot_scaled(a[0], tlx.local_trans(b[0]), acc[0], scales[0], FORM, scales[1], FORM, use_acc=False)
    to = tl.arange(0, ROWS)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
    tl.store(out + to, tlx.local_load(acc[0]))


@pytest.mark.parametrize("form", ["e4m3", "e5m2", "e2m1"])
def test_block_scales(form):
    rng = np.random.default_rng(0)
    rows, depth = 32, 128
    kind = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m1": ml_dtypes.float4_e2m1fn}[form]
    values = [rng.standard_normal((rows, depth)).astype(kind) for _ in range(2)]
    scales = [rng.integers(120, 134, (rows, depth // 32), np.uint8) for _ in range(2)]
    stored, packed = values, 1
    if form == "e2m1":
        codes = [x.view(np.uint8) & 15 for x in values]
        stored, packed = [np.ascontiguousarray(x[:, ::2] | x[:, 1::2] << 4) for x in codes], 2
    out = np.zeros((rows, rows), np.float32)
    args = (*(descriptor(x, [rows, depth // packed]) for x in stored), *scales, out, rows, depth, form, packed)
    tlx.sim.run(scaled, (1,), args, schedule=3).raise_for_findings()
    a, b = (
        x.astype(np.float32) * np.repeat(2.0 ** (s.astype(np.float32) - 127), 32, axis=1)
        for x, s in zip(values, scales, strict=True)
    )
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.T.astype(np.float64), rtol=1e-4, atol=1e-3)


@tlx.jit
def stolen(out, ROLES: tl.constexpr):
    """Every tile is counted once by each role, whoever runs it."""
    context = tlx.clc_create_context(num_consumers=ROLES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile = tl.program_id(0)
            asked = 1
            heard = 0
            while tile != -1:
                tlx.clc_producer(context, asked)
                asked ^= 1
                tl.atomic_add(out + tile, 1)
                tile = tlx.clc_consumer(context, heard)
                heard ^= 1
        with tlx.async_task(num_warps=1, replicate=ROLES - 1):
            tile = tl.program_id(0)
            heard = 0
            while tile != -1:
                tl.atomic_add(out + tile, 1)
                tile = tlx.clc_consumer(context, heard)
                heard ^= 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_launch_control(schedule):
    out = np.zeros(7, np.int32)
    report = tlx.sim.run(stolen, (7,), (out, 3), schedule=schedule)
    report.raise_for_findings()
    np.testing.assert_array_equal(out, 3)


@tlx.jit
def stolen_by_pairs(out):
    """Each CTA of a pair runs its own program of the cluster that the pair took over."""
    context = tlx.clc_create_context(num_consumers=4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile = tl.program_id(0)
            asked = 1
            heard = 0
            while tile != -1:
                tlx.clc_producer(context, asked, multi_ctas=True)
                asked ^= 1
                tl.atomic_add(out + tile, 1)
                tile = tlx.clc_consumer(context, heard, multi_ctas=True)
                heard ^= 1
        with tlx.async_task(num_warps=1):
            tile = tl.program_id(0)
            heard = 0
            while tile != -1:
                tl.atomic_add(out + tile, 1)
                tile = tlx.clc_consumer(context, heard, multi_ctas=True)
                heard ^= 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_launch_control_of_pairs(schedule):
    out = np.zeros(10, np.int32)
    options = {"ctas_per_cga": (2, 1, 1)}
    tlx.sim.run(stolen_by_pairs, (10,), (out,), options, schedule=schedule).raise_for_findings()
    np.testing.assert_array_equal(out, 2)


@tlx.jit
def counted_by_the_leader(a_desc, b_desc, out, SIZE: tl.constexpr, EXPECTED: tl.constexpr):
    """The loads of both CTAs land on the barrier of the even one, which multiplies for both."""
    a = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    b = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    acc = tlx.local_alloc((SIZE, 2 * SIZE), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(1)
    done = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    leads = rank % 2 == 0
    tlx.barrier_expect_bytes(full[0], EXPECTED, pred=leads)
    tlx.async_descriptor_load(a_desc, a[0], [rank * SIZE, 0], full[0], two_ctas=True)
    tlx.async_descriptor_load(b_desc, b[0], [0, rank * SIZE], full[0], two_ctas=True)
    tlx.barrier_wait(full[0], 0, pred=leads)
    tlx.async_dot(a[0], b[0], acc[0], use_acc=False, mBarriers=[done[0]], two_ctas=True)
    tlx.barrier_wait(done[0], 0)
    rows = rank * SIZE + tl.arange(0, SIZE)[:, None]
    tl.store(out + rows * 2 * SIZE + tl.arange(0, 2 * SIZE)[None, :], tlx.local_load(acc[0]))
    tlx.cluster_barrier()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("share", [1, 2])
def test_loads_of_a_pair(schedule, share):
    """The leader must expect the bytes of both; with its own only, it goes on too early."""
    rng = np.random.default_rng(0)
    a, b = padded(rng, 32, 16), padded(rng, 16, 32)
    out = np.zeros((32, 32), np.float32)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), out, 16, share * 2 * 16 * 16 * 2)
    report = tlx.sim.run(counted_by_the_leader, (2,), args, {"ctas_per_cga": (2, 1, 1)}, schedule=schedule)
    if share == 1:
        assert "expect-bytes" in report.codes
    else:
        report.raise_for_findings()
        np.testing.assert_allclose(out, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5)


@tlx.jit
def spin(lock):
    while tl.atomic_cas(lock, 0, 1) != 0:
        pass


def test_a_loop_around_an_atomic_ends():
    lock = np.ones(1, np.int32)
    with pytest.raises(tlx.sim.SimulationError, match="has not ended after 1000 steps"):
        tlx.sim.run(spin, (1,), (lock,), max_steps=1000)


@tlx.jit
def wrong_shape(SIZE: tl.constexpr):
    a = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    acc = tlx.local_alloc((SIZE, 2 * SIZE), tl.float32, 1, tlx.storage_kind.tmem)
    tlx.async_dot(a[0], a[0], acc[0])


def test_shapes_must_fit():
    with pytest.raises(tlx.sim.SimulationError, match="do not multiply"):
        tlx.sim.run(wrong_shape, (1,), (16,))


@tlx.jit
def hopper_with_barriers(SIZE: tl.constexpr):
    a = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.async_dot(a[0], a[0], mBarriers=[bars[0]])


def test_a_product_into_registers_takes_no_barriers():
    with pytest.raises(tlx.sim.SimulationError, match="mBarriers has no effect"):
        tlx.sim.run(hopper_with_barriers, (1,), (16,))
