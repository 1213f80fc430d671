"""Plain Triton kernels: the simulator is the reference that conversions are compared with, so it must be exact."""

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from triton.language.extra import libdevice

import tlx
from corpus.gemm.matmul import matmul_kernel

from .launch import padded

bf16 = ml_dtypes.bfloat16


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@pytest.mark.parametrize("dtype", [np.float16, bf16, np.float32, np.float64, np.int8, np.int32, np.int64])
def test_addition_rounds_as_its_type_does(dtype):
    rng = np.random.default_rng(0)
    x, y = (100 * rng.standard_normal(1000)).astype(dtype), rng.standard_normal(1000).astype(dtype)
    out = np.zeros_like(x)
    report = tlx.sim.run(add, (8,), (x, y, out, 1000), {"BLOCK": 128})
    np.testing.assert_array_equal(out, x + y)
    assert report.ok
    assert report.programs == 8


def test_overflow_is_the_kernels_business():
    x, out = np.full(8, 60000, np.float16), np.zeros(8, np.float16)
    tlx.sim.run(add, (1,), (x, x, out, 8), {"BLOCK": 8}).raise_for_findings()
    assert np.isinf(out).all()


@triton.jit
def cast(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at).to(out.dtype.element_ty))


@pytest.mark.parametrize("target", [bf16, np.float16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn])
def test_casts_round_to_nearest_even(target):
    x = np.concatenate([np.linspace(-3, 3, 60), [0.0, -0.0, 1e-9, np.nan]]).astype(np.float32)
    out = np.zeros(64, target)
    tlx.sim.run(cast, (1,), (x, out), {"BLOCK": 64})
    np.testing.assert_array_equal(out.astype(np.float32), x.astype(target).astype(np.float32))


@pytest.mark.parametrize(("target", "largest"), [(ml_dtypes.float8_e4m3fn, 448), (ml_dtypes.float8_e5m2, 57344)])
def test_casts_to_fp8_saturate(target, largest):
    x = np.array([1e6, -1e6, np.inf, 1.0], np.float32)
    out = np.zeros(4, target)
    tlx.sim.run(cast, (1,), (x, out), {"BLOCK": 4})
    np.testing.assert_array_equal(out.astype(np.float32), [largest, -largest, largest, 1])


@triton.jit
def dot(a, b, out, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    rows, cols = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    x, y = tl.load(a + rows * SIZE + cols), tl.load(b + rows * SIZE + cols)
    tl.store(out + rows * SIZE + cols, tl.dot(x, y, input_precision=PRECISION))


@pytest.mark.parametrize("dtype", [bf16, np.float16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_dot_multiplies_values_not_bit_patterns(dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((16, 16)).astype(dtype) for _ in range(2))
    out = np.zeros((16, 16), np.float32)
    tlx.sim.run(dot, (1,), (a, b, out), {"SIZE": 16, "PRECISION": None})
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_tf32_is_a_switch():
    a, b = np.full((16, 16), 1 + 2.0**-12, np.float32), np.eye(16, dtype=np.float32)
    kept, rounded = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    tlx.sim.run(dot, (1,), (a, b, rounded), {"SIZE": 16, "PRECISION": None})
    np.testing.assert_array_equal(rounded, 1)
    tlx.sim.run(dot, (1,), (a, b, kept), {"SIZE": 16, "PRECISION": None}, tf32=False)
    np.testing.assert_array_equal(kept, a)
    tlx.sim.run(dot, (1,), (a, b, kept), {"SIZE": 16, "PRECISION": "ieee"})
    np.testing.assert_array_equal(kept, a)


def launch_matmul(m, n, k, dtype, **options):
    """The corpus GEMM with tiny tiles, under its autotuner; returns the report, the result and what it should be."""
    rng = np.random.default_rng(1)
    a, b = padded(rng, m, k, dtype), padded(rng, k, n, dtype)
    c = tlx.sim.tensor(np.zeros((m, n), dtype))
    strides = [s // x.itemsize for x in (a, b) for s in x.strides]
    constants = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 2, "ACTIVATION": "leaky_relu", "num_warps": 8}

    def grid(meta):
        return (triton.cdiv(meta["M"], meta["BLOCK_M"]) * triton.cdiv(meta["N"], meta["BLOCK_N"]),)

    report = tlx.sim.run(matmul_kernel, grid, (a, b, c, m, n, k, *strides, n, 1), constants, **options)
    product = a.astype(np.float64) @ b.astype(np.float64)
    return report, c, np.where(product >= 0, product, 0.01 * product)


@pytest.mark.parametrize("dtype", [np.float16, bf16, np.float32])
@pytest.mark.parametrize("size", [(64, 32, 48), (70, 40, 57), (1, 1, 1)])
def test_a_pointer_matmul(dtype, size):
    report, c, wanted = launch_matmul(*size, dtype)
    assert report.ok
    tolerance = {2: 1e-2, 4: 4e-2}[np.dtype(dtype).itemsize] if dtype is not np.float16 else 2e-3
    np.testing.assert_allclose(c.numpy().astype(np.float64), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float16, bf16, np.float32])
def test_a_lifted_run_rounds_nowhere(dtype):
    report, c, wanted = launch_matmul(70, 40, 57, dtype, lift=True)
    np.testing.assert_allclose(c.lifted, wanted, rtol=1e-13, atol=1e-13)
    assert c.lifted.dtype == np.float64
    assert not c.numpy().any(), "the plain values stay as they were"
    assert report.unlifted == ()


@triton.jit
def quantize(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    steps = (tl.load(x + at) * 3.0).to(tl.int32)
    small = tl.load(x + at).to(tl.float16)
    tl.store(out + at, steps.to(tl.float32) + small)


def test_a_lifted_run_keeps_and_reports_casts_to_integers():
    x = np.linspace(-2, 2, 16).astype(np.float32) * np.float32(1.001)
    out = tlx.sim.tensor(np.zeros(16, np.float32))
    report = tlx.sim.run(quantize, (1,), (x, out), {"BLOCK": 16}, lift=True)
    np.testing.assert_array_equal(out.lifted, np.trunc(x.astype(np.float64) * 3) + x.astype(np.float64))
    (site,) = report.unlifted
    assert site.text.startswith("steps =")


def test_a_lifted_value_is_read_back_lifted():
    @triton.jit
    def twice(x, y, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(y + at, (tl.load(x + at).to(tl.float32) / 3.0).to(tl.float16))
        tl.store(x + at, tl.load(y + at) * 3.0)

    x, y = tlx.sim.tensor(np.arange(8, dtype=np.float16)), tlx.sim.tensor(np.zeros(8, np.float16))
    tlx.sim.run(twice, (1,), (x, y), {"BLOCK": 8}, lift=True)
    np.testing.assert_allclose(x.lifted, np.arange(8), rtol=1e-15)


@triton.jit
def _shifted(x, by, DOUBLE: tl.constexpr = False):
    if DOUBLE:
        return 2 * x + by
    return x + by


@triton.jit
def library(x, out, n, BLOCK: tl.constexpr):
    if n == 0:
        return
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    largest, where = tl.max(v, 0, return_indices=True)
    tl.store(out, largest)
    tl.store(out + 1, where)
    tl.store(out + 2, tl.sum(v))
    tl.store(out + 3, v.to(tl.float64).sum())
    tl.store(out + 4, tl.argmin(v, 0))
    tl.store(out + 5, tl.max(tl.cumsum(v, 0), 0))
    tl.store(out + 6, tl.sum(libdevice.tanh(v)))
    tl.store(out + 7, tl.sum(tl.softmax(v)))
    tl.store(out + 8, _shifted(largest, 1) + _shifted(largest, 1, DOUBLE=True))
    steps = 0
    while steps < n:
        steps += 2
    tl.store(out + 9, steps)
    tl.atomic_add(out + 10 + at * 0, v)
    tl.store(out + 11, max(n, 3) + min(n, 3))


def test_library_functions_helpers_and_control_flow():
    x = np.random.default_rng(0).standard_normal(16).astype(np.float32)
    out = np.zeros(12, np.float64)
    tlx.sim.run(library, (1,), (x, out, 5), {"BLOCK": 16}).raise_for_findings()
    top = float(x.max())
    wanted = [
        top, x.argmax(), x.sum(), x.astype(np.float64).sum(), x.argmin(), np.cumsum(x).max(), np.tanh(x).sum(), 1,
        3 * top + 2, 6, x.sum(), 8,
    ]  # fmt: skip
    np.testing.assert_allclose(out, wanted, rtol=1e-5)
    early = np.zeros(12, np.float64)
    tlx.sim.run(library, (1,), (x, early, 0), {"BLOCK": 16})
    assert not early.any()


@triton.jit
def row_sum(x, out, BLOCK: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.reduce(v, 0, _plus))
    tl.store(out + 1, tl.sum(v))
    tl.store(out + 2, tl.max(v, 0))


@triton.jit
def _plus(a, b):
    return a + b


def test_narrow_floats_are_summed_without_stagnation():
    x, out = np.ones(1024, bf16), np.zeros(3, np.float32)
    tlx.sim.run(row_sum, (1,), (x, out), {"BLOCK": 1024})
    assert out.tolist() == [1024, 1024, 1]


@triton.jit
def logic(a, b, out, BLOCK: tl.constexpr, FLAG: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(a + at) > 0, tl.load(b + at) > 0
    tl.store(out + at, (x and y).to(tl.int32) + 2 * (x or y).to(tl.int32) + 4 * (not x).to(tl.int32))
    n = tl.load(a)
    if n > 0 and not FLAG:
        tl.store(out, 100)
    if FLAG or n.no_such_attribute:
        tl.store(out + 1, 200)


def test_and_or_not_on_tensors_and_constants():
    a, b = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
    out = np.zeros(4, np.int32)
    tlx.sim.run(logic, (1,), (a, b, out, 4, True))
    assert out.tolist() == [3, 200, 6, 4]


@triton.jit
def arg_rows(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    v = tl.load(x + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :])
    tl.store(out + tl.arange(0, ROWS), tl.argmax(v, 1))
    tl.store(out + ROWS + tl.arange(0, ROWS), tl.argmin(v, 1))
    tl.store(out + 2 * ROWS + tl.arange(0, COLS), tl.argmax(v, 0))


def test_ties_go_to_the_left():
    x = np.array([[1, 3, 3, 0], [2, 2, 2, 2], [5, 0, 0, 5], [0, 1, 2, 3]], np.float32)
    out = np.zeros(12, np.int32)
    tlx.sim.run(arg_rows, (1,), (x, out, 4, 4))
    assert out.tolist() == [*x.argmax(1), *x.argmin(1), *x.argmax(0)]


@triton.jit
def integers(a, b, out):
    x, y = tl.load(a), tl.load(b)
    tl.store(out, x // y)
    tl.store(out + 1, x % y)
    tl.store(out + 2, x * 65536 * 65536 + y)
    tl.store(out + 3, (x < y).to(tl.int32) + (x == x).to(tl.int32))
    tl.store(out + 4, x ^ y)
    tl.store(out + 5, x.to(tl.int64) * 65536 * 65536)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3)])
def test_integers_divide_towards_zero_and_wrap(a, b):
    out = np.zeros(6, np.int64)
    tlx.sim.run(integers, (1,), (np.array([a], np.int32), np.array([b], np.int32), out))
    quotient = int(a / b)
    wanted = [quotient, a - b * quotient, b, (a < b) + 1, a ^ b, a << 32]
    np.testing.assert_array_equal(out, wanted)


@triton.jit
def row_copy(desc, out_desc, rows, COLS: tl.constexpr):
    for row in tl.range(0, rows, 2):
        out_desc.store([row, 0], desc.load([row, 0]))


def test_descriptors_read_zeros_outside_and_write_nothing_there():
    x, out = np.ones((3, 16), np.float32), np.full((3, 16), 7, np.float32)
    from .launch import descriptor

    tlx.sim.run(
        row_copy, (1,), (descriptor(x, [2, 16]), descriptor(out, [2, 16]), 4), {"COLS": 16}
    ).raise_for_findings()
    np.testing.assert_array_equal(out, x)


def test_programs_run_in_the_order_asked_for():
    @triton.jit
    def ticket(counter, out):
        tl.store(out + tl.program_id(0) + 2 * tl.program_id(1), tl.atomic_add(counter, 1))

    def run(**options):
        out = np.full(6, -1, np.int32)
        tlx.sim.run(ticket, (2, 3), (np.zeros(1, np.int32), out), **options)
        return out.tolist()

    assert run() == [0, 1, 2, 3, 4, 5]
    assert run(order=lambda ids: ids[::-1]) == [5, 4, 3, 2, 1, 0]
    assert run(max_ctas=2) == [0, 1, -1, -1, -1, -1]


def test_errors_name_the_line():
    @triton.jit
    def wrong(x):
        tl.static_assert(1 > 2, "never")

    with pytest.raises(tlx.sim.SimulationError, match=r"test_plain\.py:\d+: static_assert failed: never"):
        tlx.sim.run(wrong, (1,), (np.zeros(1, np.float32),))


def test_triton_is_itself_again_afterwards():
    before = (tl.load, tl.tensor.__add__, triton.JITFunction.__call__, tl.tensor.__init__)
    tlx.sim.run(add, (1,), (np.ones(4, np.float32),) * 3 + (4,), {"BLOCK": 4})
    assert (tl.load, tl.tensor.__add__, triton.JITFunction.__call__, tl.tensor.__init__) == before
    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        add(1)
