"""A CTA multicasts into a slot of its peer without having heard that the peer is done with it."""

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
    half: tl.constexpr = ROWS // 2
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], ROWS * COLS * 2)
                part = tlx.local_slice(ring[slot], [rank * half, 0], [half, COLS])
                row = k * ROWS + rank * half
                tlx.async_descriptor_load(x_desc, part, [row, 0], full[slot], multicast_targets=[0, 1])  # BUG
        with tlx.async_task(num_warps=4):
            total = tl.zeros((ROWS, COLS), tl.float32)
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                total += tlx.local_load(ring[slot]).to(tl.float32)
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot])
            at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
            tl.store(out + tl.program_id(0) * ROWS * COLS + at, total)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x = np.ones((5 * 16, 16), np.float16)
    out = np.zeros((2, 16, 16), np.float32)
    args = (descriptor(x, [8, 16]), out, 5, 2, 16, 16)
    report = tlx.sim.run(kernel, (2,), args, {"ctas_per_cga": (2, 1, 1)}, schedule=schedule)
    assert_found(report, kernel, "race", "release-before-retire")
