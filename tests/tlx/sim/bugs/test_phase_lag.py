"""A waiter is two phases behind its barrier."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(out):
    tick = tlx.alloc_barriers(1)
    go = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_arrive(tick[0])
            tlx.barrier_arrive(tick[0])
            tlx.barrier_arrive(go[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(go[0], 0)
            tlx.barrier_wait(tick[0], 0)  # BUG: phase 1 is over as well
            tl.store(out, 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    out = np.zeros(1, np.int32)
    report = tlx.sim.run(kernel, (1,), (out,), schedule=schedule)
    assert_found(report, kernel, "phase-lag")
