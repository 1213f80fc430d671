"""MXFP8: blocks of fp32 as fp8 with one power of two for each 32 neighbours along a row, as ``async_dot_scaled`` takes
them. Helpers that kernels call.

A scale is the smallest power of two that brings the largest of its elements into the range of the fp8 type (the OCP
recipe, rounded up), kept as its biased exponent (E8M0). All of it is ordinary arithmetic on exponents, so it compiles
for every GPU with fp8 and runs in the simulator.
"""

from __future__ import annotations

import triton.language as tl

from .lowering.jit import jit

#: elements that share a scale
_SHARED = tl.constexpr(32)


@jit
def _scales(largest: tl.tensor, dtype: tl.constexpr) -> tl.tuple:
    """E8M0 codes for blocks with these largest magnitudes, and the fp32 factors that undo them."""
    tl.static_assert(dtype == tl.float8e4nv or dtype == tl.float8e5, "MXFP8 is float8e4nv or float8e5")
    limit: tl.constexpr = 448.0 if dtype == tl.float8e4nv else 57344.0
    bits = (largest * (1.0 / limit)).to(tl.int32, bitcast=True)
    exponent = bits >> 23
    fraction = bits & 0x7FFFFF
    # Up to the next power of two. Below the normal numbers only 2**-127 has a code, which is 0.
    up = tl.where(exponent == 0, fraction > 0x400000, fraction > 0)
    code = tl.minimum(exponent + up.to(tl.int32), 254)
    code = tl.where((exponent == 255) & (fraction > 0), 255, code)
    # The reciprocal of 2**127 is no normal number; what is not a number stays none.
    inverse = tl.where(code < 254, (254 - code) << 23, tl.where(code == 254, 0x400000, 0x7FC00000))
    return code.to(tl.uint8), inverse.to(tl.float32, bitcast=True)


@jit
def _quantized(data: tl.tensor, largest: tl.tensor, dtype: tl.constexpr) -> tl.tuple:
    """The block in fp8 and its scales, from the largest magnitudes per row and 32 columns."""
    rows: tl.constexpr = data.shape[0]
    groups: tl.constexpr = data.shape[1] // _SHARED
    codes, inverse = _scales(largest, dtype)
    scaled = tl.reshape(data, [rows, groups, _SHARED]) * tl.expand_dims(inverse, 2)
    return tl.reshape(scaled, [rows, groups * _SHARED]).to(dtype), codes


@jit
def _to_mxfp8_block(data_input: tl.tensor, VEC_SIZE: tl.constexpr, dtype: tl.constexpr) -> tl.tuple:
    """A block of fp32 in MXFP8: the fp8 elements and, for each row and 32 columns, the E8M0 scale as uint8.

    Args:
        data_input: block of fp32 of two dimensions; the second is a multiple of 32.
        VEC_SIZE: 32.
        dtype: float8e4nv or float8e5.
    """
    tl.static_assert(VEC_SIZE == _SHARED, "32 elements share a scale")
    groups: tl.constexpr = data_input.shape[1] // _SHARED
    apart = tl.reshape(tl.abs(data_input), [data_input.shape[0], groups, _SHARED])
    return _quantized(data_input, tl.max(apart, axis=2), dtype)


@jit
def _to_mxfp8_32x32_block(data_input: tl.tensor, VEC_SIZE: tl.constexpr, dtype: tl.constexpr) -> tl.tuple:
    """As ``_to_mxfp8_block``, but each 32 rows by 32 columns share a scale, which is repeated for every row."""
    tl.static_assert(VEC_SIZE == _SHARED, "32 elements share a scale")
    rows: tl.constexpr = data_input.shape[0]
    groups: tl.constexpr = data_input.shape[1] // _SHARED
    apart = tl.reshape(tl.abs(data_input), [rows, groups, _SHARED])
    bands = tl.reshape(tl.max(apart, axis=2), [rows // _SHARED, _SHARED, groups])
    band = tl.expand_dims(tl.max(bands, axis=1), 1)
    largest = tl.reshape(tl.broadcast_to(band, [rows // _SHARED, _SHARED, groups]), [rows, groups])
    return _quantized(data_input, largest, dtype)


@jit
def _to_mxfp8_block_with_block_amax(
    data_input: tl.tensor, block_amax: tl.tensor, VEC_SIZE: tl.constexpr, dtype: tl.constexpr
) -> tl.tuple:
    """As ``_to_mxfp8_block`` where the largest magnitudes per row and 32 columns are known already."""
    tl.static_assert(VEC_SIZE == _SHARED, "32 elements share a scale")
    return _quantized(data_input, block_amax, dtype)
