"""A measurement on a real Hopper."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxify import convert
from tlxify.bench.run import Measured, bench
from tlxify.bench.shapes import named
from tlxify.pipeline import analyze
from tlxify.source import SourceFile

pytestmark = [pytest.mark.gpu, pytest.mark.torch]


def test_a_product_is_measured_against_its_source():
    source = SourceFile.read(Path(__file__).parents[2] / "corpus" / "gemm" / "matmul.py")
    (kernel,) = convert(source).converted
    facts = analyze(source)[0].facts
    cases = tuple(named(kernel.contract, {"M": 2048, "N": 2048, "K": k}) for k in (2048, 2052))
    report = bench([Measured(kernel.conversion, facts, cases)], rounds=5)
    even, ragged = report.rows
    assert (even.failure, ragged.failure) == ("", "")
    assert (even.path, ragged.path) == ("specialized", "original")
    assert ragged.reason == "unaligned-stride"
    assert 0.1 < even.share("converted") < 1.05
    assert 300 < report.ceilings["tflops"] < 1000
    assert 2000 < report.ceilings["gbps"] < 5000
