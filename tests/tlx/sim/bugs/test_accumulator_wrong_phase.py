"""The epilogue waits with the wrong phase and reads the accumulator while products write it."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(a_desc, b_desc, out, K_TILES, STAGES: tl.constexpr, SIZE: tl.constexpr):
    a = tlx.local_alloc((SIZE, SIZE), tl.float16, STAGES)
    b = tlx.local_alloc((SIZE, SIZE), tl.float16, STAGES)
    acc = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    done = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 1)  # phase 1 of a fresh barrier is over at once
            at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
            tl.store(out + at, tlx.local_load(acc[0]))  # BUG
        with tlx.async_task(num_warps=1):
            for k in range(K_TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                tlx.async_dot(a[slot], b[slot], acc[0], use_acc=k > 0, mBarriers=[empty[slot]])
            tlx.tcgen05_commit(done[0])
        with tlx.async_task(num_warps=1):
            for k in range(K_TILES):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * SIZE * SIZE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIZE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIZE, 0], full[slot])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    a, b = np.ones((16, 80), np.float16), np.ones((80, 16), np.float16)
    out = np.zeros((16, 16), np.float32)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), out, 5, 2, 16)
    report = tlx.sim.run(kernel, (1,), args, schedule=schedule)
    assert_found(report, kernel, "result-before-retire", "race")
