"""A tcgen05 product reads an operand that ordinary stores have just written."""

import numpy as np
import pytest
import triton.language as tl

import tlx

from ..launch import SCHEDULES, assert_found


@tlx.jit
def kernel(x, out, SIZE: tl.constexpr):
    a = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    acc = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, tlx.storage_kind.tmem)
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tlx.local_store(a[0], tl.load(x + at))
    tlx.async_dot(a[0], a[0], acc[0], use_acc=False)  # BUG: no fence("async_shared") before
    tl.store(out + at, tlx.local_load(acc[0]))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_found(schedule):
    x, out = np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32)
    report = tlx.sim.run(kernel, (1,), (x, out, 16), schedule=schedule)
    assert_found(report, kernel, "missing-fence")
    assert tlx.sim.run(kernel, (1,), (x, out, 16), schedule=schedule, fences="compiled").ok
