"""Regions, tasks and replicas: who runs what, and which values each sees."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

import tlx

from .barriers import halves
from .case import Case, Described


@tlx.jit
def captures(out, n):
    step = 10
    outside = 5
    with tlx.async_tasks():
        with tlx.async_task("default"):
            # A copy of its own from here on.
            outside += 1
            tl.store(out, outside)
        with tlx.async_task(num_warps=4, replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            local = step * (who + 1)
            if n > 2:
                outside = local
            tl.store(out + 1 + who, outside)
    tl.store(out + 3, outside)


@triton.jit
def both(pair, at):
    first, second = pair
    return tlx.local_load(first[0]) + second * at


@tlx.jit
def all_kinds(x_desc, x, out, n):
    tiles = tlx.local_alloc((128,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    box = tlx.local_alloc((16, 64), tl.float16, 1)
    pair = (tiles, n)
    nested = (full, (x, out))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(tiles[0], tl.load(nested[1][0] + tl.arange(0, 128)))
            tlx.barrier_arrive(nested[0][0])
        with tlx.async_task(num_warps=4):
            bars, pointers = nested
            target = pointers[1]
            tlx.barrier_wait(bars[0], 0)
            tl.store(target + tl.arange(0, 128), both(pair, tl.arange(0, 128)))
            own = tlx.alloc_barriers(1)
            tlx.barrier_expect_bytes(own[0], 2048)
            tlx.async_descriptor_load(x_desc, box[0], [0, 0], own[0])
            tlx.barrier_wait(own[0], 0)
            tl.store(out + 128, tl.sum(tlx.local_load(box[0]).to(tl.float32)))


@tlx.jit
def joined(out):
    notes = tlx.local_alloc((128,), tl.int32, 2)
    at = tl.arange(0, 128)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(notes[0], tl.arange(0, 128) + 1)
        with tlx.async_task(num_warps=2):
            tlx.local_store(notes[1], tl.arange(0, 128) * 2)
    # All of a region is over when it ends.
    tl.store(out + at, tlx.local_load(notes[0]) + tlx.local_load(notes[1]))


@tlx.jit
def repeated(out, rounds):
    notes = tlx.local_alloc((128,), tl.int32, 1)
    tlx.local_store(notes[0], tl.zeros((128,), tl.int32))
    for step in range(rounds):
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(out + 128 + step, step)
            with tlx.async_task(num_warps=4):
                tlx.local_store(notes[0], tlx.local_load(notes[0]) + step)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out + 132, rounds)
        with tlx.async_task(num_warps=1):
            tl.store(out + tl.arange(0, 128), tlx.local_load(notes[0]))


@tlx.jit
def widened(out, REGISTERS: tl.constexpr, EXTRA: tl.constexpr):
    with tlx.async_tasks(no_ending_cluster_sync=True, mbarrier_try_wait_suspend_ns=1000):
        if EXTRA:
            with tlx.async_task(num_warps=1, num_regs=REGISTERS):
                tl.store(out + 256 + tl.arange(0, 128), 3)
        # In any place among the others; its copies are workers as wide as itself.
        with tlx.async_task("default", replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            tl.store(out + who * 128 + tl.arange(0, 128), who + 1)


@tlx.jit
def alone(out, EXTRA: tl.constexpr):
    value = 1
    with tlx.async_tasks(exclusive=True):
        with tlx.async_task("default"):
            value += 1
            tl.store(out + tl.arange(0, 128), value)
        if EXTRA:
            with tlx.async_task(num_warps=4):
                tl.store(out + 128 + tl.arange(0, 128), value)


def zeros(count: int) -> tuple[np.ndarray, ...]:
    return (np.zeros(count, np.int32),)


CASES = {
    "captures": Case(captures, lambda: (*zeros(4), 3), {0: lambda out, n: [6, 10, 20, 5]}),
    "captures, branch not taken": Case(captures, lambda: (*zeros(4), 1), {0: lambda out, n: [6, 5, 5, 5]}),
    "captures of all kinds": Case(
        all_kinds,
        lambda: (Described(halves(16), (16, 64)), np.arange(128, dtype=np.float32), np.zeros(129, np.float32), 5),
        {2: lambda x, source, out, n: [*(source + n * np.arange(128)), x.astype(np.float32).sum()]},
        tolerance=1e-6,
    ),
    "joined": Case(joined, lambda: zeros(128), {0: lambda out: np.arange(128) * 3 + 1}),
    "repeated": Case(repeated, lambda: (*zeros(133), 4), {0: lambda out, rounds: [6] * 128 + [0, 1, 2, 3] + [rounds]}),
    "widened": Case(
        widened,
        lambda: zeros(384),
        {0: lambda out: np.repeat([1, 2, 0], 128)},
        {"REGISTERS": None, "EXTRA": False},
    ),
    "alone": Case(alone, lambda: zeros(256), {0: lambda out: np.repeat([2, 0], 128)}, {"EXTRA": False}),
    "exclusive": Case(alone, lambda: zeros(256), {0: lambda out: np.repeat([2, 1], 128)}, {"EXTRA": True}),
}
