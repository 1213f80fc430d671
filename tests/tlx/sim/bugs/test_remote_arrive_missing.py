"""CTA 0 waits for both CTAs, but each arrives on its own barrier only."""

import pytest

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel():
    ready = tlx.alloc_barriers(1, arrive_count=2)
    rank = tlx.cluster_cta_rank()
    tlx.barrier_arrive(ready[0])
    if rank == 0:
        tlx.barrier_wait(ready[0], 0)  # BUG: CTA 1 should arrive with remote_cta_rank=0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    report = tlx.sim.run(kernel, (2,), (), {"ctas_per_cga": (2, 1, 1)}, schedule=schedule)
    assert_found(report, kernel, "deadlock")
