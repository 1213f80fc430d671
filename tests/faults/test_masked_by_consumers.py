"""Operands whose mask no descriptor expresses: the tile comes whole, and the consumers mask it in registers."""

from __future__ import annotations

import pytest

from tests.faults.trying import broken, converted, sound, text_of

pytestmark = pytest.mark.triton


def packed(kernel) -> str:
    """The converted kernel without white space."""
    return "".join(text_of(kernel).split())


def test_rows_past_the_end_of_a_group_are_masked_in_registers():
    kernel = converted("ends_in_memory")
    assert "x=tl.where(inside[:,None]&(m[None,:]<M),tlx.local_load(" in packed(kernel)
    assert "g=tl.where(inside[:,None]&(n[None,:]<N),tlx.local_load(" in packed(kernel)
    assert sound(kernel).trips >= 4


def test_a_row_of_the_next_group_is_noticed():
    # The mask of one operand alone gives zeros, unless the other one holds NaN.
    assert "mismatch" in broken(converted("ends_in_memory"), "inside[:, None]", "(rows >= 0)[:, None]")


def test_what_stands_past_the_end_is_what_the_source_says():
    kernel = converted("fill_that_is_no_zero")
    assert "a=tl.where((m[:,None]<M)&(k[None,:]<K)&(k[None,:]>=first),tlx.local_load(" in packed(kernel)
    assert packed(kernel).count("tl.where(") == 1
    sound(kernel)
    assert "mismatch" in broken(kernel, " 1.0,\n", " 0.0,\n")
