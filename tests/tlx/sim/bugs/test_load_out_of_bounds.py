"""A load without the mask that its tensor needs."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)  # BUG: no mask
    tl.store(out + at, values, mask=at < n)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x, out = np.ones(20, np.float32), np.zeros(20, np.float32)
    report = tlx.sim.run(kernel, (1,), (x, out, 20, 32), schedule=schedule)
    np.testing.assert_array_equal(out, x)
    assert_found(report, kernel, "global-out-of-bounds")
