"""What captured launches prove: nothing where each of them is left to the original."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.capture.test_replay import gemm
from tests.verify import samples
from tlxify.capture.verified import verify_captured
from tlxify.verdict import Rung

pytestmark = pytest.mark.triton


def verdict(launch):
    return verify_captured(samples.conversion(), [launch], upto=Rung.SIMULATED)


def test_a_launch_that_is_compared_proves_something():
    assert verdict(gemm(m=256, n=128, k=128)).rung is Rung.SIMULATED


def test_a_launch_that_is_left_to_the_original_proves_nothing():
    launch = gemm(m=256, n=128, k=128)
    a, b, c = launch.tensors
    found = verdict(replace(launch, tensors=(a, replace(b, alignment=2), c)))
    assert found.rung is Rung.PROTOCOL
    assert not found.findings
    assert "nothing was compared: every captured launch is left to the original" in found.skipped
