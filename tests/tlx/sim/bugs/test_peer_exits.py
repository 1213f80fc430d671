"""A CTA ends although its peer has yet to write into its shared memory."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(x, out, SIZE: tl.constexpr):
    tile = tlx.local_alloc((SIZE,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    lanes = tl.arange(0, SIZE)
    tlx.barrier_expect_bytes(full[0], SIZE * 4)
    tlx.async_remote_shmem_store(tile[0], tl.load(x + lanes), rank ^ 1, full[0])  # BUG: nobody stays to see it
    if rank == 0:
        tlx.barrier_wait(full[0], 0)
        tl.store(out + lanes, tlx.local_load(tile[0]))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    report = tlx.sim.run(kernel, (2,), (x, out, 16), {"ctas_per_cga": (2, 1, 1)}, schedule=schedule)
    assert_found(report, kernel, "peer-exited")
