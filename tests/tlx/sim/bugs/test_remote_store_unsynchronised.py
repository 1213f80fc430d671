"""A CTA reads what its peer stores into its memory without meeting the peer in between."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(x, out, SIZE: tl.constexpr):
    tile = tlx.local_alloc((SIZE,), tl.float32, 1)
    rank = tlx.cluster_cta_rank()
    lanes = tl.arange(0, SIZE)
    tlx.local_store(tile[0], tl.load(x + lanes))
    tlx.cluster_barrier()
    tlx.remote_shmem_store(tile[0], tl.load(x + lanes) + rank, rank ^ 1)  # BUG: no cluster_barrier after it
    tl.store(out + rank * SIZE + lanes, tlx.local_load(tile[0]))
    tlx.cluster_barrier()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x, out = np.ones(16, np.float32), np.zeros((2, 16), np.float32)
    report = tlx.sim.run(kernel, (2,), (x, out, 16), {"ctas_per_cga": (2, 1, 1)}, schedule=schedule)
    assert_found(report, kernel, "race")
