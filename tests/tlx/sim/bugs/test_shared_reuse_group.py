"""Two members of a shared reuse group are in use at once."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(x_desc, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    pool = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    tiles = tlx.local_alloc((ROWS, COLS), tl.float16, 2, reuse=pool)
    sums = tlx.local_alloc((ROWS, COLS), tl.float32, 1, reuse=pool)
    pool.set_buffer_overlap(tlx.reuse_group(tlx.reuse_group(tiles, group_size=2), sums))
    full = tlx.alloc_barriers(2)
    for i in tl.static_range(2):
        tlx.barrier_expect_bytes(full[i], ROWS * COLS * 2)
        tlx.async_descriptor_load(x_desc, tiles[i], [i * ROWS, 0], full[i])
    tlx.barrier_wait(full[0], 0)
    tlx.local_store(sums[0], tlx.local_load(tiles[0]).to(tl.float32))  # BUG: tiles[1] may still be landing there
    tlx.barrier_wait(full[1], 0)
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out + at, tlx.local_load(sums[0]) + tlx.local_load(tiles[1]).to(tl.float32))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x = np.ones((32, 16), np.float16)
    out = np.zeros((16, 16), np.float32)
    report = tlx.sim.run(kernel, (1,), (descriptor(x, [16, 16]), out, 16, 16), schedule=schedule)
    assert_found(report, kernel, "storage-alias-overlap")
