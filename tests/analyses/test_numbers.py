"""What a run-time number is: an integer where the kernel counts with it, a float where it is compared with floats."""

from __future__ import annotations

import pytest

from tlxify.config import Contracts
from tlxify.contracting import any_contract
from tlxify.pairing import find
from tlxify.source import SourceFile

DROPOUT = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    {drawn}
    tl.store(y_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=at < n)
"""


def number(drawn: str) -> tuple[str, tuple[int | float, ...]]:
    kernel = find(SourceFile("kernel.py", DROPOUT.format(drawn=drawn)), "kernel")
    found = any_contract(kernel, Contracts(None, "kernel.py"))
    return next((spec.kind, spec.choices) for spec in found.scalars if spec.name == "p")


@pytest.mark.parametrize(
    "drawn",
    [
        "keep = tl.rand(seed, at) > p",
        "keep = p <= tl.rand(seed, at)",
        "r = tl.rand(seed, at)\n    keep = r > 1 - p",
    ],
)
def test_what_random_numbers_are_compared_with_lies_between_0_and_1(drawn):
    # 1 of it would drop everything, or divide by nothing: a launch that says nothing of either version.
    assert number(drawn) == ("float", (0.25, 0.5))


def test_what_normal_numbers_are_compared_with_is_a_float():
    assert number("keep = tl.randn(seed, at) > p")[0] == "float"


def test_what_positions_are_divided_by_is_an_integer():
    assert number("keep = tl.rand(seed, at // p) > 0.5")[0] == "int"
