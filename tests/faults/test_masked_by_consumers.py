"""Operands whose mask no descriptor expresses: the tile comes whole, and the consumers mask it in registers."""

from __future__ import annotations

import pytest

from tests.faults.trying import broken, converted, sound, text_of

pytestmark = pytest.mark.triton


def packed(kernel) -> str:
    """The converted kernel without white space."""
    return "".join(text_of(kernel).split())


def test_rows_past_the_end_of_a_group_are_not_read():
    # Zeros are what copies leave out: threads copy these, by the source's mask.
    kernel = converted("ends_in_memory")
    assert "mask=inside[:,None]&(m[None,:]<M)" in packed(kernel)
    assert sound(kernel).trips >= 4
    assert broken(kernel, "inside[:, None]", "(rows >= 0)[:, None]") & {"mismatch", "global-out-of-bounds"}


def test_what_stands_past_the_end_is_what_the_source_says():
    kernel = converted("fill_that_is_no_zero")
    assert "a=tl.where((m[:,None]<M)&(k[None,:]<K)&(k[None,:]>=first),tlx.local_load(" in packed(kernel)
    assert packed(kernel).count("tl.where(") == 1
    sound(kernel)
    assert "mismatch" in broken(kernel, " 1.0,\n", " 0.0,\n")
