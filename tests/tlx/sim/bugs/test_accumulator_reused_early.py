"""The next tile is accumulated while the epilogue still reads the last one."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(a_desc, b_desc, out, TILES, SIZE: tl.constexpr):
    a = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    b = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    acc = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(1)
    done = tlx.alloc_barriers(1)
    free = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
            for tile in range(TILES):
                tlx.barrier_wait(done[0], tile & 1)
                tlx.barrier_arrive(free[0])
                tl.store(out + tile * SIZE * SIZE + at, tlx.local_load(acc[0]))  # BUG: freed before it is read
        with tlx.async_task(num_warps=1):
            tlx.barrier_expect_bytes(full[0], 2 * SIZE * SIZE * 2)
            tlx.async_descriptor_load(a_desc, a[0], [0, 0], full[0])
            tlx.async_descriptor_load(b_desc, b[0], [0, 0], full[0])
            tlx.barrier_wait(full[0], 0)
            for tile in range(TILES):
                tlx.barrier_wait(free[0], (tile & 1) ^ 1)
                tlx.async_dot(a[0], b[0], acc[0], use_acc=False, mBarriers=[done[0]])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    a, b = np.ones((16, 16), np.float16), np.ones((16, 16), np.float16)
    out = np.zeros((4, 16, 16), np.float32)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), out, 4, 16)
    report = tlx.sim.run(kernel, (1,), args, schedule=schedule)
    assert_found(report, kernel, "race", "result-before-retire")
