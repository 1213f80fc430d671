"""More tiles in tensor memory than it has columns."""

import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(N: tl.constexpr, TILES: tl.constexpr):
    tlx.local_alloc((128, N), tl.float32, TILES, tlx.storage_kind.tmem)  # BUG: 3 x 256 columns


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    report = tlx.sim.run(kernel, (1,), (256, 3), schedule=schedule)
    assert_found(report, kernel, "tensor-memory-budget")
    assert tlx.sim.run(kernel, (1,), (256, 2), schedule=schedule).ok
