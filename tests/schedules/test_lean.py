"""A producer of one warp: what it looks like, that it is right, and where it is refused."""

from __future__ import annotations

import functools

import pytest

from tests.golden import ROOT
from tlxify.pipeline import convert
from tlxify.source import SourceFile
from tlxify.verdict import Rung
from tlxify.verify import verify
from tlxify.verify.compiled import dispatched
from tlxify.verify.loading import load
from tlxify.verify.sizing import full_size_case

#: A product whose rows are shared out, chained dots, and a role with no group.
KERNELS = ("gemm/matmul", "attention/causal", "gemm/host_descriptors")


@functools.cache
def converted(name: str, schedule: str, *, profitable: bool = True):
    path = ROOT / "corpus" / f"{name}.py"
    return convert(SourceFile(str(path), path.read_text()), schedule=schedule, profitable=profitable)


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_own_warps_are_the_consumers(name):
    lean, usual = (converted(name, schedule) for schedule in ("lean", "auto"))
    (kernel,) = lean.converted
    assert (kernel.plan.task("producer").warps, kernel.plan.lean) == ("1", True)
    text = lean.sidecar_text
    assert text.index('tlx.async_task("default"') < text.index("tlx.async_task(num_warps=1, registers=24)")
    assert text.count("tlx.async_task(") == usual.sidecar_text.count("tlx.async_task(") == 2
    assert "a producer of one warp" in text
    assert "CONSUMER_WARPS" not in text, "nobody reads it"
    assert "lean=True" in text
    assert "lean" not in usual.sidecar_text


@pytest.mark.parametrize("name", ["gemm/matmul", "attention/causal"])
def test_its_protocol_holds(name):
    (kernel,) = converted(name, "lean").converted
    verdict = verify(kernel.conversion, upto=Rung.PROTOCOL)
    assert verdict.passed, verdict.evidence


@pytest.mark.parametrize("schedule", ["lean", "auto"])
def test_a_launch_has_the_warps_of_its_default_task(schedule):
    (kernel,) = converted("gemm/host_descriptors", schedule).converted
    loaded = load(kernel.conversion)
    seen = set()
    for index in range(len(kernel.contract.configs)):
        dispatch, _ = dispatched(loaded, full_size_case(kernel.contract, index))
        consumers = dispatch.plan.consumer_warps
        assert dispatch.options["num_warps"] == (consumers if schedule == "lean" else 4)
        seen.add(consumers)
    assert 8 in seen


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gemm/indexed_rows", "its threads copy the rows of"),
        ("moe/gathered", "its threads copy the rows of"),
        ("quantized/weight_only_int8", "a role of its own computes the second operand"),
    ],
)
def test_others_have_a_producer_of_four_warps(name, why):
    (kernel,) = converted(name, "lean", profitable=False).kernels
    assert kernel.verdict_word == "declined"
    (found,) = kernel.diagnostics
    assert found.code == "TLX320"
    assert why in found.message
