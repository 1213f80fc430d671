"""More shared memory than an SM has."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(out):
    big = tlx.local_alloc((256, 128), tl.float16, 4)  # BUG: 256 KiB
    tlx.local_store(big[0], tl.zeros((256, 128), tl.float16))
    tl.store(out, 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    out = np.zeros(1, np.int32)
    report = tlx.sim.run(kernel, (1,), (out,), schedule=schedule)
    assert_found(report, kernel, "shared-memory-budget")
