"""A role takes part in cluster launch control that the context does not count."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(out):
    context = tlx.clc_create_context(num_consumers=3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile = tl.program_id(0)
            asked, heard = 1, 0
            while tile != -1:
                tlx.clc_producer(context, asked)  # BUG: two roles consume, three are counted
                asked ^= 1
                tl.atomic_add(out + tile, 1)
                tile = tlx.clc_consumer(context, heard)
                heard ^= 1
        with tlx.async_task(num_warps=1):
            tile = tl.program_id(0)
            heard = 0
            while tile != -1:
                tile = tlx.clc_consumer(context, heard)
                heard ^= 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    out = np.zeros(4, np.int32)
    report = tlx.sim.run(kernel, (4,), (out,), schedule=schedule)
    assert_found(report, kernel, "deadlock")
