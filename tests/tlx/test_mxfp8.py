"""Blocks of fp32 become MXFP8 as the OCP specification has it, rounded up: reckoned again here with numpy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")

import ml_dtypes
import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx
from tlx.mxfp8 import _to_mxfp8_32x32_block, _to_mxfp8_block_with_block_amax

pytestmark = pytest.mark.triton

ROWS, COLUMNS = 64, 128
FORMATS = {tl.float8e4nv: (ml_dtypes.float8_e4m3fn, 448), tl.float8e5: (ml_dtypes.float8_e5m2, 57344)}


@tlx.jit
def quantize(x, y, scales, ROWS: tl.constexpr, COLUMNS: tl.constexpr, HOW: tl.constexpr, dtype: tl.constexpr):
    r = tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLUMNS)[None, :]
    groups: tl.constexpr = COLUMNS // 32
    data = tl.load(x + r * COLUMNS + c)
    if HOW == "square":
        small, codes = _to_mxfp8_32x32_block(data, 32, dtype)
    elif HOW == "known":
        largest = tl.max(tl.reshape(tl.abs(data), [ROWS, groups, 32]), axis=2)
        small, codes = _to_mxfp8_block_with_block_amax(data, largest, 32, dtype)
    else:
        small, codes = tlx._to_mxfp8_block(data_input=data, VEC_SIZE=32, dtype=dtype)
    tl.store(y + r * COLUMNS + c, small.to(tl.float32))
    tl.store(scales + r * groups + tl.arange(0, groups)[None, :], codes)


def constants(how, dtype):
    return {"ROWS": ROWS, "COLUMNS": COLUMNS, "HOW": how, "dtype": dtype}


def reckoned(x, how, dtype):
    """(values, exponents) by numpy in double precision."""
    kind, limit = FORMATS[dtype]
    largest = np.abs(x).reshape(ROWS, -1, 32).max(axis=2)
    if how == "square":
        largest = np.repeat(largest.reshape(ROWS // 32, 32, -1).max(axis=1), 32, axis=0)
    # As the definition has it, with the one rounding of fp32 that a product has.
    quotient = (largest * np.float32(1 / limit)).astype(np.float64)
    codes = np.clip(np.ceil(np.log2(np.maximum(quotient, 2.0**-127))) + 127, 0, 254).astype(np.int64)
    factors = np.repeat(2.0 ** (127.0 - codes), 32, axis=1)
    with np.errstate(over="ignore"):
        scaled = np.clip(x.astype(np.float64) * factors, -limit, limit)
    return scaled.astype(np.float32).astype(kind).astype(np.float32), codes


def samples():
    rng = np.random.default_rng(7)
    x = (rng.standard_normal((ROWS, COLUMNS)) * 2.0 ** rng.integers(-60, 60, (ROWS, 1))).astype(np.float32)
    x[3] = 0
    x[4, :32] = 448  # exactly representable: the scale is 1
    x[5, :32] = np.nextafter(np.float32(448), np.float32(1000))
    x[6, 32:64] = 1e-44
    x[7, :32] = np.float32(3e38)
    return x


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("how", ["rows", "square", "known"])
def test_values_and_scales(how, dtype):
    x, y = samples(), np.zeros((ROWS, COLUMNS), np.float32)
    scales = np.zeros((ROWS, COLUMNS // 32), np.uint8)
    tlx.sim.run(quantize, (1,), (x, y, scales), constants(how, dtype))
    values, codes = reckoned(x, how, dtype)
    np.testing.assert_array_equal(scales, codes)
    np.testing.assert_array_equal(y, values)


@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
@pytest.mark.parametrize("how", ["rows", "square", "known"])
def test_it_compiles(how, target):
    made = tlx.compile(
        quantize, {"x": "*fp32", "y": "*fp32", "scales": "*u8"}, constants(how, tl.float8e4nv), target=target
    )
    assert "cvt.rn.satfinite.e4m3x2.f32" in made.asm["ptx"]
    assert made.facts.spill_stores == 0


def test_nothing_else_is_mxfp8():
    with pytest.raises(CompilationError) as caught:
        tlx.compile(quantize, {"x": "*fp32", "y": "*fp32", "scales": "*u8"}, constants("rows", tl.float16))
    told = caught.value
    while told.__cause__ is not None:  # from the call to the helper's own line
        told = told.__cause__
    assert "MXFP8 is float8e4nv or float8e5" in str(told)
