"""Section C: block pointers that are gone from Triton, and whole repositories that move to descriptors."""

from __future__ import annotations

import pytest

from tests.faults.trying import broken, converted, dispatched, product, sound, text_of

pytestmark = pytest.mark.triton


def test_fault_47_block_pointers_become_descriptors_and_masked_stores():
    kernel = converted("block_pointers")
    text = text_of(kernel)
    assert not any(word in text for word in ("make_block_ptr", "tl.advance", "boundary_check", "padding_option"))
    sound(kernel)
    assert broken(kernel, "(stored_rows[:, None] < M) & ", "", None)


@pytest.mark.parametrize("major", ["rows", "columns"])
def test_fault_47_order_is_a_hint_and_the_strides_decide(major):
    strides = {} if major == "rows" else {"stride_am": 1, "stride_ak": 512, "stride_bk": 1, "stride_bn": 256}
    given = {**product(512, 512, 256, **strides), "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    found = dispatched("block_pointers", given, grid=(8, 8))
    assert found.path == "specialized", found.text
    flags = [value for name, value in found.kwargs.items() if name.endswith("_TRANSPOSED")]
    assert flags == [major == "columns"] * 2


def test_fault_48_a_block_pointer_without_an_axis_of_stride_one_runs_the_original():
    strides = {"stride_am": 512, "stride_ak": 2}
    given = {**product(512, 512, 256, **strides), "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    assert dispatched("block_pointers", given, grid=(8, 8)).path == "original"


def test_fault_51_an_atomic_addition_through_a_descriptor():
    kernel = converted("descriptor_atomic")
    text = text_of(kernel)
    assert "tl.atomic_add(" in text
    assert "c_desc." not in text
    sound(kernel)
