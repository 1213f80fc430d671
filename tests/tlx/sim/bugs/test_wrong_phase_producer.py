"""The producer waits for its slots with the consumer's parity and never starts."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(x_desc, out, TILES, STAGES: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    ring = tlx.local_alloc((ROWS, COLS), tl.float16, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase)  # BUG: phase ^ 1 is meant
                tlx.barrier_expect_bytes(full[slot], ROWS * COLS * 2)
                tlx.async_descriptor_load(x_desc, ring[slot], [k * ROWS, 0], full[slot])
        with tlx.async_task(num_warps=4):
            total = tl.zeros((ROWS, COLS), tl.float32)
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                total += tlx.local_load(ring[slot]).to(tl.float32)
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot])
            at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
            tl.store(out + at, total)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x = np.ones((5 * 16, 16), np.float16)
    out = np.zeros((16, 16), np.float32)
    report = tlx.sim.run(kernel, (1,), (descriptor(x, [16, 16]), out, 5, 2, 16, 16), schedule=schedule)
    assert_found(report, kernel, "deadlock")
