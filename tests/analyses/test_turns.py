"""Rows that programs take in turns: of two axes, whatever the launch says of how many programs there are."""

from __future__ import annotations

import pytest

from tlxify.config import Contracts
from tlxify.contract import Contract
from tlxify.contracting import any_contract
from tlxify.pairing import find
from tlxify.source import SourceFile

SOFTMAX = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, sx, sy, n_rows, n_cols, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * sx + at, mask=at < n_cols, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * sy + at, e / tl.sum(e, axis=0), mask=at < n_cols)


def run(x, y):
    n_rows, n_cols = x.shape
    kernel[GRID](x, y, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK=256)
"""


def contract(grid: str) -> Contract:
    text = SOFTMAX.replace("GRID", grid)
    return any_contract(find(SourceFile("kernel.py", text), "kernel"), Contracts(None, "kernel.py"))


@pytest.mark.parametrize(
    ("grid", "found"),
    [
        # As many programs as the chip takes would have one row each of all that is small enough to simulate.
        ("(min(132 * 4, n_rows),)", "min(3, n_rows)"),
        ("(132,)", "3"),
        ("(n_rows,)", "n_rows"),
    ],
)
def test_each_program_of_a_few_takes_several_rows(grid, found):
    assert contract(grid).grid == (found,)


def test_a_stride_between_rows_is_no_stride_along_them():
    found = contract("(132,)")
    tensors = {spec.name: (spec.shape, spec.strides) for spec in found.tensors}
    assert tensors["x_ptr"] == (("n_rows", "n_cols"), ("sx", "1"))
    assert tensors["y_ptr"] == (("n_rows", "n_cols"), ("sy", "1"))
    assert {spec.name: spec.kind for spec in found.scalars}["sx"] == "stride"
