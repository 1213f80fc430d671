"""Kernels of which every program stores one number, without a mask: there are as many as there are programs."""

from __future__ import annotations

import pytest

from tlxify.contract import Contract
from tlxify.verify.simulate import simulate

pytestmark = pytest.mark.triton

ROWS = """\
def rows(x_ptr, out_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + at, mask=at < N, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(total, axis=0))
"""
PARTS = """\
def parts(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    at = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + part, tl.max(x, axis=0))
"""
ALONE = """\
def alone(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32), axis=0)
    tl.store(out_ptr, total)
"""
SHARED = """\
def shared(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))
"""


def output(contract: Contract) -> tuple[str, ...]:
    return next(spec.shape for spec in contract.tensors if spec.name == "out_ptr")


@pytest.mark.parametrize(
    ("source", "grid", "shape"),
    [
        (ROWS, ("grid_0",), ("grid_0",)),
        (PARTS, ("cdiv(n, BLOCK)",), ("cdiv(n, BLOCK)",)),
        (ALONE, ("1",), ()),
        (SHARED, ("cdiv(n, BLOCK)",), ()),
    ],
    ids=["rows", "parts", "alone", "shared"],
)
def test_the_contract_follows_from_the_grid(pair, source, grid, shape):
    conversion = pair(source, source)
    assert conversion.contract.grid == grid
    assert output(conversion.contract) == shape
    tally = simulate(conversion)
    assert not tally.findings
    assert not tally.source_fails
    assert tally.telling
    assert tally.programs >= 11 or grid == ("1",)


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        (ROWS, "range(0, N, BLOCK)", "range(0, N - BLOCK * (N > 6 * BLOCK), BLOCK)"),
        (ROWS, "tl.store(out_ptr + row, tl.sum(total, axis=0))", "tl.store(out_ptr + row, tl.max(total, axis=0))"),
        (PARTS, "mask=at < n,", "mask=at < n - 1,"),
        (ALONE, "mask=at < n,", "mask=at + 1 < n,"),
        (SHARED, "    tl.atomic_add", "    x = x * (tl.program_id(0) < 1)\n    tl.atomic_add"),
    ],
)
def test_a_wrong_version_is_caught(pair, source, old, new):
    assert old in source
    assert {finding.code for finding in simulate(pair(source, source.replace(old, new))).findings.values()} == {
        "mismatch"
    }


def test_a_fault_of_the_tenth_program_alone_is_caught(pair):
    wrong = PARTS.replace("tl.max(x, axis=0)", "tl.max(x, axis=0) + (part == 9)")
    (finding,) = simulate(pair(PARTS, wrong), enough=1).findings.values()
    assert finding.code == "mismatch"
    assert finding.text.startswith("out_ptr[9]")
