"""The wait for a TMA store stands in another task than the store."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(out_desc):
    stage = tlx.local_alloc((16, 16), tl.float16, 1)
    stored = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(stored[0], 0)
            tlx.async_descriptor_store_wait(0)
            tlx.local_store(stage[0], tl.zeros((16, 16), tl.float16))
        with tlx.async_task(num_warps=4):
            tlx.local_store(stage[0], tl.full((16, 16), 1.0, tl.float16))
            tlx.fence("async_shared")
            tlx.async_descriptor_store(out_desc, stage[0], [0, 0])  # BUG: each task waits for its own stores only
            tlx.barrier_arrive(stored[0])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    out = np.zeros((16, 16), np.float16)
    report = tlx.sim.run(kernel, (1,), (descriptor(out, [16, 16]),), schedule=schedule)
    assert_found(report, kernel, "race", "leftover-state")
