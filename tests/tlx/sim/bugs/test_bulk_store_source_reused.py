"""The source of a bulk store is overwritten before the store has been waited for."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(x, out, ROWS, SIZE: tl.constexpr):
    stage = tlx.local_alloc((SIZE,), tl.float32, 1)
    lanes = tl.arange(0, SIZE)
    for i in range(ROWS):
        tlx.local_store(stage[0], tl.load(x + i * SIZE + lanes))  # BUG: the last store may still read it
        tlx.fence("async_shared")
        tlx.async_store(out + i * SIZE, stage[0], SIZE * 4)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x, out = np.ones((3, 16), np.float32), np.zeros((3, 16), np.float32)
    report = tlx.sim.run(kernel, (1,), (x, out, 3, 16), schedule=schedule)
    assert_found(report, kernel, "release-before-retire")
