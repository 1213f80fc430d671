"""One CTA comes to the cluster barrier, the other does not."""

import pytest

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel():
    if tlx.cluster_cta_rank() == 0:
        tlx.cluster_barrier()  # BUG: a barrier of all CTAs in one of them


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    report = tlx.sim.run(kernel, (2,), (), {"ctas_per_cga": (2, 1, 1)}, schedule=schedule)
    assert_found(report, kernel, "deadlock")
