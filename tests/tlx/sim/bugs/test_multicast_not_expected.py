"""Only the CTA that issues a multicast announces its bytes; its peer waits for a phase without any."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found, descriptor


@tlx.jit
def kernel(x_desc, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    tile = tlx.local_alloc((ROWS, COLS), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    if rank == 0:
        tlx.barrier_expect_bytes(full[0], ROWS * COLS * 2)
        tlx.async_descriptor_load(x_desc, tile[0], [0, 0], full[0], multicast_targets=[0, 1])
    tlx.barrier_wait(full[0], 0)  # BUG: in CTA 1 nothing has arrived
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out + rank * ROWS * COLS + at, tlx.local_load(tile[0]).to(tl.float32))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x = np.ones((16, 16), np.float16)
    out = np.zeros((2, 16, 16), np.float32)
    args = (descriptor(x, [16, 16]), out, 16, 16)
    report = tlx.sim.run(kernel, (2,), args, {"ctas_per_cga": (2, 1, 1)}, schedule=schedule)
    assert_found(report, kernel, "deadlock")
    assert "expect-bytes" in report.codes
