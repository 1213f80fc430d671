"""Section E: sources that are wrong themselves, and chips that no plan fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.faults.trying import broken, converted, dispatched, launches, product, sound, text_of
from tlxify.verify.inputs import edge_cases

pytestmark = pytest.mark.triton


def test_fault_76_ones_and_a_scale_of_one():
    kernel = converted("specialized_loop")
    ones = [case for case in edge_cases(kernel.contract) if case.data == "ones"]
    assert ones
    sound(kernel, [replace(case, schedules=("late",)) for case in ones], least=1)


def test_fault_85_wrapped_rows_are_bounded_by_the_descriptor():
    kernel = converted("wrapped_rows")
    text = text_of(kernel)
    assert " % M" not in text
    assert " % N" not in text
    sound(kernel)
    ragged = [case for case in launches(kernel) if "agged" in case.name or "sizes" in case.name]
    assert ragged
    assert broken(kernel, "(rows[:, None] < M) & ", "", ragged)


def test_fault_85_rows_that_leak_need_whole_tiles():
    tiles = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    whole = dispatched("leaking_rows", {**product(512, 512, 256), **tiles}, grid=(8, 8))
    assert whole.path == "specialized", whole.text
    ragged = dispatched("leaking_rows", {**product(520, 512, 256), **tiles}, grid=(9, 8))
    assert ragged.path == "original"
