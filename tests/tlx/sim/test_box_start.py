"""A box that starts at an odd column: the hardware ends in an illegal instruction."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from .launch import SCHEDULES, descriptor


@tlx.jit
def kernel(desc, out, column, SIZE: tl.constexpr):
    tile = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], SIZE * SIZE * 2)
    tlx.async_descriptor_load(desc, tile[0], [3, column], full[0])  # BUG: not for every column
    tlx.barrier_wait(full[0], 0)
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(out + at, tlx.local_load(tile[0]))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("column", [8, 1, 7])
def test_found(schedule, column):
    x, out = np.arange(64 * 64, dtype=np.float16).reshape(64, 64), np.zeros((16, 16), np.float16)
    launch = (descriptor(x, [16, 16]), out, column, 16)
    if column % 8 == 0:
        assert not tlx.sim.run(kernel, (1,), launch, schedule=schedule).findings
        np.testing.assert_array_equal(out, x[3:19, column : column + 16])
        return
    with pytest.raises(
        tlx.sim.SimulationError, match=rf"\[3, {column}\]: the last one is not on a multiple of 16 bytes"
    ):
        tlx.sim.run(kernel, (1,), launch, schedule=schedule)
