"""A wait that passes only because nobody has been quicker: nothing keeps the next phase from ending before it."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(out):
    free = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            # The first phase of a barrier that nobody has used: passes at once, if it comes before the arrival.
            tlx.barrier_wait(free[0], 1)  # BUG: should tell the other task, and so be known to come first
            tl.store(out, 1)
        with tlx.async_task(num_warps=4):
            tlx.barrier_arrive(free[0])
            tlx.barrier_wait(free[0], 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    """Where the arrival comes first the wait never ends; where it does not, that it could is found."""
    out = np.zeros(1, np.int32)
    report = tlx.sim.run(kernel, (1,), (out,), schedule=schedule)
    assert_found(report, kernel, "phase-lag", "wrong-phase", "deadlock")
