"""Public types are those of the values, and element types are what they should be."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl

import tlx

pytestmark = pytest.mark.triton


@triton.constexpr_function
def is_a(value, kinds):
    return isinstance(value, kinds)


@tlx.jit
def kinds(out, x, desc):
    buffer = tlx.local_alloc((64, 64), tl.float16, 2, tlx.storage_kind.smem)
    bars = tlx.alloc_barriers(2)
    pool = tlx.storage_alias_spec()
    places = tlx.allocate_tensor_descriptor(2)
    token = tlx.async_load(x + tl.arange(0, 128), tlx.local_alloc((128,), tl.float32, 1)[0])
    tl.static_assert(is_a(buffer, tlx.buffered_tensor))
    tl.static_assert(is_a(buffer[0], tlx.buffered_tensor))
    tl.static_assert(is_a(buffer.type, tlx.buffered_tensor_type))
    tl.static_assert(is_a(bars, tlx.mbarrier))
    tl.static_assert(is_a(bars[0].type, tlx.mbarrier_type))
    tl.static_assert(is_a(pool, tlx.storage_alias_spec_type_class))
    tl.static_assert(is_a(pool.type, tlx.storage_alias_spec_type))
    tl.static_assert(is_a(places, tlx.tensor_descriptor_ptr))
    tl.static_assert(is_a(places[0].type, tlx.tensor_descriptor_ptr_type))
    tl.static_assert(is_a(token, tlx.async_token))
    tl.static_assert(tlx.TMemCTAMode.TwoCTA_LHS == 1)
    tl.store(out, 1)


SIGNATURE = {"out": "*i32", "x": "*fp32", "desc": "tensordesc<bf16[64,64]>"}


def test_values_are_instances_of_the_public_types():
    assert tlx.compile(kinds, SIGNATURE).asm["ptx"]


@tlx.jit
def elements(out, x, desc):
    tl.static_assert(tlx.dtype_of(out) == tl.int32)
    tl.static_assert(tlx.dtype_of(tl.load(x)) == tl.float32)
    tl.static_assert(tlx.dtype_of(desc) == tl.bfloat16)
    tl.static_assert(tlx.dtype_of(tlx.local_alloc((64,), tl.float8e5, 1)) == tl.float8e5)
    tl.static_assert(tlx.size_of(tlx.dtype_of(desc)) == 2)
    tl.static_assert(tlx.size_of(tl.float64) == 8)
    tl.static_assert(tlx.size_of(tl.float8e5) == 1)
    tl.store(out, 1)


def test_types_of_elements():
    assert tlx.compile(elements, SIGNATURE).asm["ptx"]
