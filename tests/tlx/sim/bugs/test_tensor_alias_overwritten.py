"""A product clears columns that a tile with the same storage is still read from."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(a_desc, b_desc, out, SIZE: tl.constexpr):
    pool = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    scores = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, tlx.storage_kind.tmem, reuse=pool)
    factor = tlx.local_alloc((SIZE, 1), tl.float32, 1, tlx.storage_kind.tmem, reuse=pool)
    pool.set_buffer_overlap(tlx.reuse_group(scores, factor, group_type=tlx.reuse_group_type.shared))
    a = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    b = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    stored = tlx.alloc_barriers(1)
    done = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rows = tl.arange(0, SIZE)[:, None]
            tlx.local_store(factor[0], rows.to(tl.float32))
            tlx.barrier_arrive(stored[0])
            tl.store(out + rows, tlx.local_load(factor[0]))  # BUG: told the other task too early
            tlx.barrier_wait(done[0], 0)
        with tlx.async_task(num_warps=1):
            tlx.barrier_expect_bytes(full[0], 2 * SIZE * SIZE * 2)
            tlx.async_descriptor_load(a_desc, a[0], [0, 0], full[0])
            tlx.async_descriptor_load(b_desc, b[0], [0, 0], full[0])
            tlx.barrier_wait(full[0], 0)
            tlx.barrier_wait(stored[0], 0)
            tlx.async_dot(a[0], b[0], scores[0], use_acc=False, mBarriers=[done[0]])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    a, b = np.ones((16, 16), np.float16), np.ones((16, 16), np.float16)
    out = np.zeros(16, np.float32)
    report = tlx.sim.run(kernel, (1,), (descriptor(a, [16, 16]), descriptor(b, [16, 16]), out, 16), schedule=schedule)
    assert_found(report, kernel, "storage-alias-overlap")
