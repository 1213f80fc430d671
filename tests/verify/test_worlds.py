"""The launches in which a protocol is followed: as many programs and sizes as its loops need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.golden import CASES
from tlxify.contract import ScalarSpec, TensorSpec
from tlxify.pipeline import convert
from tlxify.source import SourceFile
from tlxify.verify.cases import Case
from tlxify.verify.grids import grid_of
from tlxify.verify.protocol import check_protocol, worlds_of

from . import samples

#: How many trips a program takes is its own number: the first one takes none.
TRIANGLE = """
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, am, bk, cm, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.program_id(0)):
        k = i * BM + tl.arange(0, BM)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :], mask=(m[:, None] < M) & (k[None, :] < M), other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :], mask=(k[:, None] < M) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + m[:, None] * cm + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
"""


def protocol(source: SourceFile, schedule: str = "auto"):
    """The evidence for the only kernel of a file, converted without the profit gate, in guessed launches."""
    (kernel,) = convert(source, profitable=False, schedule=schedule).converted
    made = kernel.conversion
    worlds = worlds_of(made.contract)
    return check_protocol(made.module_text, made.file, worlds, kernel=made.converted, budgets=False)


def test_the_first_and_the_last_program_are_followed():
    contract = replace(samples.CONTRACT, grid=("cdiv(M, BLOCK_M)", "cdiv(N, BLOCK_N)"))
    assert {world.program_id for world in worlds_of(contract)} == {(0, 0, 0), (1, 1, 0)}


@pytest.mark.parametrize("schedule", ["auto", "cooperative", "persistent"])
def test_trips_may_depend_on_the_program(schedule):
    (evidence,) = protocol(SourceFile("kernel.py", TRIANGLE), schedule)
    assert evidence.ok, evidence


def test_a_weight_that_is_converted_in_registers_is_fed_by_its_ring():
    text = (CASES / "transform" / "declined_used_besides.py").read_text().partition("# declined")[0]
    (evidence,) = protocol(SourceFile("kernel.py", text))
    assert evidence.ok, evidence
    assert "passed through registers" in evidence.text


#: A size that follows from a tile; left at 2, as sizes are, it would make the number of tiles in it 0.
FOLLOWING = replace(
    samples.CONTRACT,
    scalars=(*samples.CONTRACT.scalars, ScalarSpec("BS", "size")),
    tensors=(
        *samples.CONTRACT.tensors,
        TensorSpec("h_ptr", ("cdiv(K, BS // BLOCK_K)",), ("1",), False, True, "result"),
    ),
    grid=("cdiv(M, BLOCK_M) * cdiv(K, BS // BLOCK_K)",),
    computed=(("BS", "ratio_BS * BLOCK_K"),),
    free_sizes=("ratio_BS",),
)


def test_what_follows_from_other_sizes_is_worked_out_before_the_grid():
    case = Case("following", 0, (("M", 128), ("K", 64), ("BS", 2), ("ratio_BS", 2)))
    assert grid_of(FOLLOWING, case) == (32,)
    assert {world.values["BS"] for world in worlds_of(FOLLOWING)} == {128, 64}


@pytest.mark.triton
def test_a_launch_as_large_as_real_ones_has_such_sizes_too():
    from tlxify.verify.compiled import _full_size

    case = _full_size(FOLLOWING, 0)
    assert grid_of(FOLLOWING, case)[0] > 0
