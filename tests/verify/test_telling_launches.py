"""Wrong versions that only some launches show: the programs that come late, long loops, gaps, zeros, any integer."""

from __future__ import annotations

import pytest

from tlxify.verdict import Rung
from tlxify.verify import verify
from tlxify.verify.simulate import simulate

pytestmark = pytest.mark.triton

TOTAL = """\
def k(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))
"""
ADD = """\
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + at, x + 1.0, mask=mask)
"""
COUNTS = """\
def k(i_ptr, w_ptr, h_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    i = tl.load(i_ptr + at, mask=mask, other=0)
    w = tl.load(w_ptr + at, mask=mask, other=0.0)
    tl.atomic_add(h_ptr + i, w, mask=mask)
"""
NIBBLES = """\
def k(q_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    q = tl.load(q_ptr + at, mask=mask, other=0).to(tl.int8)
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + at, x * ((q >> 4) & 15).to(tl.float32), mask=mask)
"""
ROWS = """\
def k(x_ptr, out_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + at, mask=at < N, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(total, axis=0))
"""
BATCH = """\
def k(x_ptr, y_ptr, M, N, sxb, sxm, syb, sym, BM: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (m[:, None] < M) & (n[None, :] < N)
    x = tl.load(x_ptr + b * sxb + m[:, None] * sxm + n[None, :], mask=mask, other=0.0)
    tl.store(y_ptr + b * syb + m[:, None] * sym + n[None, :], x * 2.0, mask=mask)
"""
SPREAD = """\
def k(x_ptr, y_ptr, n, sx, sy, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * sx, mask=at < n, other=0.0)
    tl.store(y_ptr + at * sy, x * 0.5, mask=at < n)
"""
SCALED = """\
def k(x_ptr, y_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < N, other=0.0).to(tl.float32)
    most = tl.max(tl.abs(x), axis=0)
    most = tl.where(most == 0.0, 1.0, most)
    tl.store(y_ptr + row * stride + at, x / most, mask=at < N)
"""
ROWS_PICKED = """\
def k(i_ptr, t_ptr, y_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.load(i_ptr + row)
    at = tl.arange(0, BLOCK)
    t = tl.load(t_ptr + i * D + at, mask=at < D, other=0.0)
    tl.store(y_ptr + row * D + at, t, mask=at < D)
"""
FLAGS = """\
def k(x_ptr, y_ptr, n, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    if A:
        x = x + 1.0
    if B:
        x = x * 2.0
    if C:
        x = -x
    tl.store(y_ptr + at, x, mask=at < n)
"""
ONTO = """\
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, y + x, mask=at < n)
"""
WRONG = {
    "reads, adds and stores": (
        TOTAL, "atomic_add(out_ptr, tl.", "store(out_ptr, tl.load(out_ptr) + tl.", "program-race"
    ),
    "begins anew in its first program": (
        TOTAL, "    tl.atomic_add", "    if tl.program_id(0) == 0:\n        tl.store(out_ptr, 0.0)\n    tl.atomic_add",
        "mismatch",
    ),
    "writes into the next block": (
        ADD, "    tl.store", "    tl.store(y_ptr + at + BLOCK, x, mask=at + BLOCK < n)\n    tl.store", "program-race"
    ),
    "counts what meets in one place once": (
        COUNTS, "tl.atomic_add(h_ptr + i, w", "tl.store(h_ptr + i, tl.load(h_ptr + i, mask=mask) + w", "mismatch"
    ),
    "knows the least and the largest nibble": (NIBBLES, "(q >> 4) & 15", "tl.where(q < 0, 15, 0)", "mismatch"),
    "loses what comes after a dozen blocks": (
        ROWS, "range(0, N, BLOCK)", "range(0, min(N, 12 * BLOCK), BLOCK)", "mismatch"
    ),
    "forgets the third of a batch": (BATCH, "x * 2.0", "x * tl.where(b == 2, 1.0, 2.0)", "mismatch"),
    "takes batches to lie side by side": (BATCH, "b * sxb +", "b * M * sxm +", "mismatch"),
    "takes vectors to lie side by side": (SPREAD, "at * sx,", "at,", "mismatch"),
    "clips what is added to what is there": (
        ONTO, "y + x", "y + tl.where((x > 20.0) & (x < 1e30), 20.0, x)", "mismatch"
    ),
    "divides zero by zero": (SCALED, "    most = tl.where(most == 0.0, 1.0, most)\n", "", "mismatch"),
    "picks from three rows": (ROWS_PICKED, "i * D", "tl.minimum(i, 3) * D", "mismatch"),
    "is wrong with every flag": (
        FLAGS, "    tl.store", "    if A and B and C:\n        x = x + 1.0\n    tl.store", "mismatch"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_version_is_caught(pair, fault):
    source, old, new, code = WRONG[fault]
    assert old in source
    findings = simulate(pair(source, source.replace(old, new)), enough=1).findings.values()
    assert {finding.code for finding in findings} == {code}
    if code == "program-race":
        assert all(finding.line for finding in findings)


@pytest.mark.parametrize("source", [TOTAL, COUNTS, NIBBLES, SCALED, ROWS_PICKED, BATCH], ids=range(6))
def test_the_source_itself_agrees(pair, source):
    tally = simulate(pair(source, source))
    assert not tally.findings
    assert not tally.source_fails
    assert tally.compared


def test_where_no_launch_was_compared_nothing_is_proved(pair):
    source = ADD.replace("    mask", "    tl.assume(n > 100000)\n    mask")
    verdict = verify(pair(source, source.replace("x + 1.0", "x + 2.0")), upto=Rung.SIMULATED)
    (finding,) = verdict.findings
    assert finding.code == "vacuous"
    assert "contradict what the source assumes" in finding.text
    assert verdict.rung < Rung.SIMULATED


def test_bytes_that_look_like_poison_are_results(pair, tmp_path):
    copy = ADD.replace("x + 1.0", "x")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.tlxify.contracts."old.py::k"]\nx_ptr = "in i8[n]"\ny_ptr = "out i8[n]"\n'
    )
    tally = simulate(pair(copy, copy))
    assert not tally.findings
    assert not tally.source_fails
