"""The dot is waited for, but through another value than the one used."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(a_desc, b_desc, out, TILES, STAGES: tl.constexpr, SIZE: tl.constexpr):
    a_ring = tlx.local_alloc((SIZE, SIZE), tl.float16, STAGES)
    b_ring = tlx.local_alloc((SIZE, SIZE), tl.float16, STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * SIZE * SIZE * 2)
                tlx.async_descriptor_load(a_desc, a_ring[slot], [0, k * SIZE], full[slot])
                tlx.async_descriptor_load(b_desc, b_ring[slot], [k * SIZE, 0], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((SIZE, SIZE), tl.float32)
            for k in range(TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                acc = tlx.async_dot(a_ring[slot], b_ring[slot], acc)
                tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
            tl.store(out + at, acc)  # BUG: the value that the wait returned is meant


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    a, b = np.ones((16, 5 * 16), np.float16), np.ones((5 * 16, 16), np.float16)
    out = np.zeros((16, 16), np.float32)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), out, 5, 2, 16)
    report = tlx.sim.run(kernel, (1,), args, schedule=schedule)
    assert_found(report, kernel, "result-before-retire")
