"""Element types: casts, arithmetic and products agree with ml_dtypes and numpy bit by bit."""

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from triton.tools.tensor_descriptor import TensorDescriptor

import tlx
from tlx.sim import numerics

from .launch import descriptor

FLOATS = {
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2,
}

#: any fp32 bit pattern: subnormals, infinities and NaN included
BITS = st.lists(st.integers(0, 2**32 - 1), min_size=16, max_size=16)


def floats(bits):
    return np.array(bits, np.uint32).view(np.float32)


@triton.jit
def cast(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes).to(out.dtype.element_ty))


def same(got, wanted):
    """Equal bits, except that one NaN is as good as another."""
    nan = np.isnan(wanted.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), nan)
    bits = f"u{wanted.dtype.itemsize}"
    np.testing.assert_array_equal(got.view(bits)[~nan], wanted.view(bits)[~nan])


@settings(max_examples=60, deadline=None)
@given(bits=BITS, name=st.sampled_from(sorted(FLOATS)))
def test_narrowing_rounds_to_nearest_even(bits, name):
    x, out = floats(bits), np.zeros(16, FLOATS[name])
    tlx.sim.run(cast, (1,), (x, out), {"BLOCK": 16})
    with np.errstate(all="ignore"):
        if name.startswith("fp8"):  # Triton saturates
            largest = np.float32(ml_dtypes.finfo(FLOATS[name]).max)
            x = np.clip(x, -largest, largest)
        wanted = x.astype(FLOATS[name])
    same(out, wanted)


@settings(max_examples=60, deadline=None)
@given(codes=st.lists(st.integers(0, 255), min_size=16, max_size=16), name=st.sampled_from(["fp8e4nv", "fp8e5"]))
def test_widening_is_exact(codes, name):
    x = np.array(codes, np.uint8).view(FLOATS[name])
    out = np.zeros(16, np.float32)
    tlx.sim.run(cast, (1,), (x, out), {"BLOCK": 16})
    same(out, x.astype(np.float32))


@triton.jit
def arithmetic(x, y, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    tl.store(out + lanes, a + b)
    tl.store(out + BLOCK + lanes, a * b)
    tl.store(out + 2 * BLOCK + lanes, a - b)


@settings(max_examples=60, deadline=None)
@given(x=BITS, y=BITS, name=st.sampled_from(["fp16", "bf16"]))
def test_arithmetic_rounds_once(x, y, name):
    with np.errstate(all="ignore"):
        a, b = floats(x).astype(FLOATS[name]), floats(y).astype(FLOATS[name])
        wide = a.astype(np.float64), b.astype(np.float64)
        wanted = [(f(*wide)).astype(np.float32).astype(FLOATS[name]) for f in (np.add, np.multiply, np.subtract)]
    out = np.zeros((3, 16), FLOATS[name])
    tlx.sim.run(arithmetic, (1,), (a, b, out), {"BLOCK": 16})
    same(out, np.stack(wanted))


@settings(max_examples=60, deadline=None)
@given(x=st.lists(st.integers(-128, 127), min_size=16, max_size=16), y=st.integers(-128, 127))
def test_int8_wraps(x, y):
    a, b = np.array(x, np.int8), np.full(16, y, np.int8)
    out = np.zeros((3, 16), np.int8)
    tlx.sim.run(arithmetic, (1,), (a, b, out), {"BLOCK": 16})
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, np.stack([a + b, a * b, a - b]))


@tlx.jit
def product(a, b, out, SIZE: tl.constexpr, TENSOR: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tiles = tlx.local_alloc((SIZE, SIZE), tlx.dtype_of(a), 2)
    tlx.local_store(tiles[0], tl.load(a + at))
    tlx.local_store(tiles[1], tl.load(b + at))
    tlx.fence("async_shared")
    if TENSOR:
        acc = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, tlx.storage_kind.tmem)
        tlx.async_dot(tiles[0], tiles[1], acc[0], use_acc=False)
        tl.store(out + at, tlx.local_load(acc[0]))
    else:
        tl.store(out + at, tlx.async_dot_wait(0, tlx.async_dot(tiles[0], tiles[1])))


@pytest.mark.parametrize("tensor", [False, True])
@settings(max_examples=20, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(FLOATS)))
def test_products_are_exact(tensor, data, name):
    """Small integers, so that no order of summation rounds."""
    numbers = st.lists(st.integers(-4, 4), min_size=256, max_size=256)
    a, b = (np.array(data.draw(numbers)).reshape(16, 16).astype(FLOATS[name]) for _ in range(2))
    out = np.zeros((16, 16), np.float32)
    tlx.sim.run(product, (1,), (a, b, out, 16, tensor)).raise_for_findings()
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_int8_products_are_exact(data):
    numbers = st.lists(st.integers(-128, 127), min_size=256, max_size=256)
    a, b = (np.array(data.draw(numbers), np.int8).reshape(16, 16) for _ in range(2))
    out = np.zeros((16, 16), np.int32)
    tlx.sim.run(product, (1,), (a, b, out, 16, False)).raise_for_findings()
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


@given(bits=BITS)
def test_tf32_operands_are_cut(bits):
    """Of every number the ten leading bits of the mantissa stay, towards zero."""
    x = floats(bits)
    cut = numerics.truncate_to_tf32(x)
    number = ~np.isnan(x)
    np.testing.assert_array_equal(cut.view(np.uint32)[number] & 0x1FFF, 0)
    np.testing.assert_array_equal(cut.view(np.uint32)[number], x.view(np.uint32)[number] & ~np.uint32(0x1FFF))
    assert np.isnan(cut[~number]).all()


@given(bits=BITS)
def test_tf32_rounding_on_request_is_to_nearest(bits):
    """No neighbour with ten bits is nearer, and of two equally near ones the even one is taken."""
    x = floats(bits)
    x = x[np.isfinite(x) & (np.abs(x) < 3e38)]
    rounded = numerics.round_to_tf32(x)
    low = numerics.truncate_to_tf32(x)
    high = (low.view(np.uint32) + np.uint32(1 << 13)).view(np.float32)
    down, up = np.abs(np.float64(x) - low), np.abs(np.float64(high) - x)
    even = np.where(low.view(np.uint32) >> 13 & 1, high, low)
    np.testing.assert_array_equal(rounded, np.where(down < up, low, np.where(up < down, high, even)))


@pytest.mark.parametrize("tensor", [False, True])
def test_products_of_fp32_read_tf32(tensor):
    a = np.full((16, 16), 1 + 2.0**-10 + 2.0**-11, np.float32)
    out = np.zeros((16, 16), np.float32)
    identity = np.eye(16, dtype=np.float32)
    tlx.sim.run(product, (1,), (a, identity, out, 16, tensor)).raise_for_findings()
    np.testing.assert_array_equal(out, np.float32(1 + 2.0**-10))
    tlx.sim.run(product, (1,), (a, identity, out, 16, tensor), tf32=False).raise_for_findings()
    np.testing.assert_array_equal(out, a)


@tlx.jit
def fetch(x_desc, out, SIZE: tl.constexpr):
    tile = tlx.local_alloc((SIZE, SIZE), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], SIZE * SIZE * 4)
    tlx.async_descriptor_load(x_desc, tile[0], [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(out + at, tlx.local_load(tile[0]))


@pytest.mark.skipif(
    "round_f32_to_tf32" not in TensorDescriptor.__dataclass_fields__, reason="descriptors of this Triton do not round"
)
def test_descriptors_round_on_request():
    x = np.full((16, 16), 1 + 2.0**-10 + 2.0**-11, np.float32)
    out = np.zeros((16, 16), np.float32)
    plain = descriptor(x, [16, 16])
    rounding = TensorDescriptor(plain.base, plain.shape, plain.strides, plain.block_shape, round_f32_to_tf32=True)
    tlx.sim.run(fetch, (1,), (rounding, out, 16)).raise_for_findings()
    np.testing.assert_array_equal(out, np.float32(1 + 2.0**-9))
