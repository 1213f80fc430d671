"""Where time goes, and the advice for launches that fall back; the guard itself is asked, on no GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.test_replay import gemm
from tlxify.capture.advice import advice
from tlxify.capture.launches import Capture, KernelId
from tlxify.capture.profiling import ATTAINED, LARGEST_GAIN, _saved, profile

CORPUS = Path(__file__).parents[2] / "corpus"
MATMUL = KernelId("matmul_kernel", "matmul", str(CORPUS / "gemm" / "matmul.py"), 1, "0")


def matmul(times, **changes):
    launch = gemm(tiles=(128, 128, 64), warps=8, stages=4, **changes)
    scalars = {**dict(launch.scalars), "ACTIVATION": "", "GROUP_M": 8}
    return replace(launch, kernel=MATMUL, scalars=tuple(scalars.items()), times=times)


@pytest.mark.triton
def test_kernels_by_share_of_time_with_what_stands_in_the_way():
    fast = matmul((320.0,), m=4096, n=4096, k=4096)
    slow = matmul((50.0, 40.0, 60.0), m=512, n=512, k=250)
    elsewhere = replace(gemm(), times=(20.0,), kernel=KernelId("mine", "m", "nowhere.py", 1, "0"))
    rows = profile(Capture((elsewhere, fast, slow), overflow={replace(MATMUL, name="many"): 9}))
    assert [(row.kernel.name, row.launches, row.microseconds) for row in rows] == [
        ("matmul_kernel", 6, 3 * 370.0),
        ("mine", 3, 60.0),
        ("many", 9, None),
    ]
    first, second, _ = rows
    assert first.state == "converted"
    assert first.share == pytest.approx(1110 / 1170)
    floor = 3 * 2 * 4096**3 / 790e6
    assert floor < first.floor_share * 1110 < 1.05 * floor, "the small launch adds a little"
    assert first.saving == pytest.approx(3 * (320 - floor / 3 / ATTAINED), rel=0.01), "of the fast launches alone"
    (fallback,) = first.fallbacks
    assert (fallback.code, fallback.launches, fallback.microseconds) == ("unaligned-stride", 3, 150.0)
    assert "rows of a_ptr from 250 to 256 elements" in fallback.advice
    assert "nowhere.py is not here" in second.state


def test_no_prediction_promises_more_than_was_measured():
    assert _saved(300.0, 1.0) == pytest.approx(300 - 300 / LARGEST_GAIN)
    assert _saved(100.0, 90.0) == 0.0, "it is as fast as conversions become"


@pytest.mark.parametrize(
    ("code", "text", "says"),
    [
        ("unaligned-base", "b_ptr starts 2 bytes past a multiple of 16", "multiples of 8 elements"),
        ("no-unit-stride", "a_ptr has strides (8, 4): neither of the last two axes is contiguous", "contiguous"),
        ("overlap", "c_ptr is stored to where a_ptr is read", "memory of its own"),
        ("dtype", "a_ptr is fp32, not fp16 or bf16", None),
        ("chip", "device 0 is cuda 8.x", None),
    ],
)
def test_advice_is_for_what_another_allocation_avoids(code, text, says):
    found = advice(code, text, gemm())
    assert found is None if says is None else says in found
