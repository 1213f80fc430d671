"""Asynchronous dots: every operand type, operands in registers, and several in flight."""

import ml_dtypes
import numpy as np
import pytest
import triton.language as tl

import tlx

from .launch import SCHEDULES, descriptor


@tlx.jit
def one_dot(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, IN_REGISTERS: tl.constexpr):
    dtype: tl.constexpr = tlx.dtype_of(a)
    left = tlx.local_alloc((M, K), dtype, 1)
    right = tlx.local_alloc((K, N), dtype, 1)
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    tlx.local_store(left[0], x)
    tlx.local_store(right[0], y)
    tlx.fence("async_shared")
    if IN_REGISTERS:
        acc = tlx.async_dot(x, right[0])
    else:
        acc = tlx.async_dot(left[0], right[0])
    acc = tlx.async_dot_wait(0, acc)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


@pytest.mark.parametrize("in_registers", [False, True])
@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8, np.float32]
)
def test_operand_types(dtype, in_registers):
    rng = np.random.default_rng(0)
    a, b = ((4 * rng.standard_normal(shape)).astype(dtype) for shape in ((16, 32), (32, 8)))
    out = np.zeros((16, 8), np.int32 if dtype is np.int8 else np.float32)
    args = (a, b, out, 16, 8, 32, in_registers)
    tlx.sim.run(one_dot, (1,), args, tf32=False).raise_for_findings()
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)


def test_fp32_operands_are_rounded_to_tf32():
    a, b = np.full((16, 16), 1 + 2.0**-12, np.float32), np.eye(16, dtype=np.float32)
    out = np.zeros((16, 16), np.float32)
    tlx.sim.run(one_dot, (1,), (a, b, out, 16, 16, 16, False)).raise_for_findings()
    np.testing.assert_array_equal(out, 1)


@tlx.jit
def two_in_flight(x_desc, out, SIZE: tl.constexpr, THREADED: tl.constexpr):
    tiles = tlx.local_alloc((SIZE, SIZE), tl.float16, 2)
    bar = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bar[0], 2 * SIZE * SIZE * 2)
    tlx.async_descriptor_load(x_desc, tiles[0], [0, 0], bar[0])
    tlx.async_descriptor_load(x_desc, tiles[1], [SIZE, 0], bar[0])
    tlx.barrier_wait(bar[0], 0)
    first = tlx.async_dot(tiles[0], tiles[1])
    second = tlx.async_dot(tiles[1], tlx.local_trans(tiles[0]))
    # Leaves the second one in flight; the first may be used.
    if THREADED:
        first = tlx.async_dot_wait(1, first)
    else:
        second = tlx.async_dot_wait(1, second)
    first = first * 2.0
    second = tlx.async_dot_wait(0, second)
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(out + at, first + second)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_older_of_two_can_be_used_while_the_newer_runs(schedule):
    x = np.random.default_rng(0).standard_normal((32, 16)).astype(np.float16)
    out = np.zeros((16, 16), np.float32)
    tlx.sim.run(two_in_flight, (1,), (descriptor(x, [16, 16]), out, 16, True), schedule=schedule).raise_for_findings()
    a, b = x[:16].astype(np.float32), x[16:].astype(np.float32)
    np.testing.assert_allclose(out, 2 * (a @ b) + b @ a.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_wait_through_another_value_is_not_enough(schedule):
    x, out = np.ones((32, 16), np.float16), np.zeros((16, 16), np.float32)
    report = tlx.sim.run(two_in_flight, (1,), (descriptor(x, [16, 16]), out, 16, False), schedule=schedule)
    assert report.codes == {"result-before-retire"}
    assert np.isnan(out).all(), "what was read too early is poison"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [(((16, 32), (16, 8)), "do not multiply"), (((16, 16), (16, 16)), "the accumulator is")],
)
def test_shapes_that_do_not_fit(shapes, message):
    @tlx.jit
    def kernel(out, M: tl.constexpr, K: tl.constexpr, L: tl.constexpr, N: tl.constexpr):
        a, b = tlx.local_alloc((M, K), tl.float16, 1), tlx.local_alloc((L, N), tl.float16, 1)
        tlx.local_store(a[0], tl.zeros((M, K), tl.float16))
        tlx.local_store(b[0], tl.zeros((L, N), tl.float16))
        tlx.fence("async_shared")
        tlx.async_dot_wait(0, tlx.async_dot(a[0], b[0], tl.zeros((8, 8), tl.float32)))

    (m, k), (second_k, n) = shapes
    with pytest.raises(tlx.sim.SimulationError, match=message):
        tlx.sim.run(kernel, (1,), (np.zeros(1, np.float32), m, k, second_k, n))


@tlx.jit
def device_descriptor(x, out, rows, COLS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, COLS], [COLS, 1], [8, COLS], padding_option="nan")
    tile = tlx.local_alloc((8, COLS), tlx.dtype_of(source), 1)
    bar = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bar[0], 8 * COLS * 4)
    tlx.async_descriptor_load(source, tile[0], [0, 0], bar[0])
    tlx.barrier_wait(bar[0], 0)
    target = tl.make_tensor_descriptor(out, [rows, COLS], [COLS, 1], [8, COLS])
    tlx.async_descriptor_store(target, tile[0], [0, 0])
    tlx.async_descriptor_store_wait(0)
    tl.store(out + rows * COLS, tl.sum((tlx.local_load(tile[0]) == tlx.local_load(tile[0])).to(tl.int32)))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_descriptors_made_in_the_kernel(schedule):
    x, out = np.arange(80, dtype=np.float32), np.zeros(96, np.float32)
    tlx.sim.run(device_descriptor, (1,), (x, out, 5, 16), schedule=schedule).raise_for_findings()
    np.testing.assert_array_equal(out[:80], x)
    assert out[80] == 80, "rows past the end are NaN, as the padding option says"
