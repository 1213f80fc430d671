"""Two tasks name different thread counts for one barrier."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_arrive(9, 256)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(9, 128)  # BUG: 256 is meant
            tl.store(out, 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    out = np.zeros(1, np.int32)
    report = tlx.sim.run(kernel, (1,), (out,), schedule=schedule)
    assert_found(report, kernel, "named-barrier-count")
