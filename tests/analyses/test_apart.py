"""Programs that store several tiles begin as far apart as what each of them stores."""

from __future__ import annotations

import textwrap

import pytest

from tlxify.analyses import analyze
from tlxify.analyses.contracts import infer_contract
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile
from tlxify.verify.buffers import make_arguments
from tlxify.verify.inputs import edge_cases

HEAD = "import triton\nimport triton.language as tl\n\n"
PAIRS = """
@triton.jit
def kernel(a, b, c, T, BT: tl.constexpr):
    at = tl.program_id(0) * BT
    cols = tl.arange(0, 16)
    first = at + tl.arange(0, 16)
    second = at + 16 + tl.arange(0, 16)
    x = tl.load(a + first[:, None] * 16 + cols[None, :], mask=first[:, None] < T, other=0.0)
    y = tl.load(a + second[:, None] * 16 + cols[None, :], mask=second[:, None] < T, other=0.0)
    w = tl.load(b + cols[:, None] * 16 + cols[None, :])
    tl.store(c + first[:, None] * BT + cols[None, :], tl.dot(x, w), mask=(first[:, None] < T) & (cols[None, :] < BT))
    tl.store(c + second[:, None] * BT + cols[None, :], tl.dot(y, w), mask=(second[:, None] < T) & (cols[None, :] < BT))
"""
#: Tiles as long as a parameter says: two for each program, or one for each program of a second axis.
LENGTHS = PAIRS.replace("BT: tl.constexpr", "BT: tl.constexpr, BC: tl.constexpr").replace("16", "BC")
SHARED = """
@triton.jit
def kernel(a, b, c, T, BT: tl.constexpr, BC: tl.constexpr):
    at = tl.program_id(0) * BT + tl.program_id(1) * BC
    cols = tl.arange(0, BC)
    rows = at + tl.arange(0, BC)
    x = tl.load(a + rows[:, None] * BC + cols[None, :], mask=rows[:, None] < T, other=0.0)
    w = tl.load(b + cols[:, None] * BC + cols[None, :])
    tl.store(c + rows[:, None] * BT + cols[None, :], tl.dot(x, w), mask=(rows[:, None] < T) & (cols[None, :] < BT))
"""


def contract(text: str):
    (kernel,) = find_kernels(parse_module(SourceFile("kernel.py", HEAD + textwrap.dedent(text))))
    return infer_contract(kernel, analyze(kernel))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (PAIRS, "32"),
        (PAIRS.replace("at + 16", "at + 48"), "64"),
        (PAIRS.replace("at + 16", "at + 8"), "24"),
        (LENGTHS, "2 * BC"),
        (SHARED, "BC"),
    ],
    ids=["two tiles", "with a gap", "that overlap", "of a length", "shared out"],
)
def test_a_distance_is_a_multiple_of_what_is_stored_in_it(text, rows):
    assert contract(text).multiples[-1] == ("BT", rows)


def test_programs_that_share_a_distance_are_as_many_as_fit():
    found = contract(SHARED)
    assert found.grid[1] == "BT // BC"
    assert "grid_1" not in found.free_sizes


@pytest.mark.parametrize(
    "text",
    [
        PAIRS.replace("at + 16 + tl.arange(0, 16)", "first"),
        PAIRS.replace("tl.store(c + second", "tl.load(c + second").replace(", tl.dot(y, w), mask=(sec", ", mask=(sec"),
    ],
    ids=["one tile", "the others are only read"],
)
def test_a_program_that_stores_one_tile_says_nothing(text):
    assert contract(text).multiples == (("BT", "16"),), "columns are stored up to BT, and loaded as they come"


@pytest.mark.parametrize("text", [PAIRS, LENGTHS, SHARED], ids=["two tiles", "of a length", "shared out"])
def test_no_two_programs_of_a_launch_store_to_one_row(text):
    found = contract(text)
    seen = 0
    for case in edge_cases(found):
        if case.overlaps or not dict(case.values)["BT"]:
            continue
        arguments = make_arguments(found, case, 0)
        known = {**arguments.scalars, **arguments.constants}
        length = known.get("BC", 16)
        stored = length if text is SHARED else 2 * length
        for x in range(arguments.grid[0] - 1):
            last = x * known["BT"] + (arguments.grid[1] - 1 if text is SHARED else 0) * length + stored
            assert last <= (x + 1) * known["BT"]
            seen += 1
    assert seen
