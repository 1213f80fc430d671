"""What times say of the work that was reckoned."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tlxify.bench.doubts import judged
from tlxify.bench.figures import quartiles
from tlxify.bench.report import Report, Row
from tlxify.bench.roofline import Ceilings
from tlxify.bench.work import Work
from tlxify.render.bench import bench_table

CEILINGS = Ceilings(tflops=800.0, gbps=4000.0)
#: 1 ms of arithmetic, 0.5 ms of memory.
WORK = Work(flops=8e11, bytes=2e9, dtype="fp16")


def row(work=WORK, **ms):
    return judged(Row("k", "x", ms={who: quartiles([time]) for who, time in ms.items()}), work, CEILINGS)


def test_what_the_chip_allows_is_believed():
    found = row(source=2.0, converted=0.95, reference=1.0)
    assert (found.floor, found.flops, found.bytes, found.doubts) == (1.0, 8e11, 2e9, ())


def test_work_that_the_source_cannot_have_done_is_none():
    found = row(source=0.8, converted=0.6)
    assert (found.flops, found.bytes, found.floor) == (None, 2e9, 0.5), "the length of the loop lies in memory"
    found = row(source=0.1, converted=0.05)
    assert (found.flops, found.bytes, found.floor) == (None, None, None), "and so do the rows that are read"
    assert found.tflops("source") is found.share("source") is None
    assert found.doubts == ()


def test_a_source_that_loads_little_still_multiplies():
    found = row(work=Work(flops=8e11, bytes=2e10, dtype="fp16"), source=1.2, converted=1.1)
    assert (found.flops, found.bytes, found.floor) == (8e11, None, 1.0)


@pytest.mark.parametrize("who", ["converted", "retiled", "reference"])
def test_a_time_that_the_source_makes_incredible_is_doubted(who):
    found = row(source=2.0, **{"converted": 1.5, who: 0.5})
    (doubt,) = found.doubts
    assert doubt.startswith(f"{who} takes 0.5 ms, but the ceilings of this machine allow no less than 1 ms")
    assert "no less than" in _text(Report((found,)))


def test_a_product_that_beats_the_measured_ceiling_a_little_is_not_doubted():
    assert row(source=1.0, converted=0.85).doubts == ()


def _text(report):
    console = Console(width=200, file=io.StringIO())
    console.print(bench_table(report))
    return console.file.getvalue()
