"""A bulk load moves more bytes than its barrier expects."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(x, out, SIZE: tl.constexpr):
    tile = tlx.local_alloc((SIZE,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    lanes = tl.arange(0, SIZE)
    tlx.barrier_expect_bytes(full[0], SIZE * 2)  # BUG: half of the bytes
    tlx.async_load(x, tile[0], bulk=True, barrier=full[0])
    tlx.barrier_wait(full[0], 0)
    tl.store(out + lanes, tlx.local_load(tile[0]))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    report = tlx.sim.run(kernel, (1,), (x, out, 16), schedule=schedule)
    assert_found(report, kernel, "expect-bytes")
