"""mbarriers, warp barriers and named barriers."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

import tlx

from .case import Case, Described


@tlx.jit
def parity(out):
    bars = tlx.alloc_barriers(1)
    # Nothing is complete yet, and the phase before the first counts as complete.
    tlx.barrier_wait(bars[0], 1)
    tl.store(out, 1)
    for i in range(5):
        tlx.barrier_arrive(bars[0])
        tlx.barrier_wait(bars[0], i & 1)
        # Waiting takes nothing away.
        tlx.barrier_wait(bars[0], i & 1)
        tl.store(out + 1 + i, i)


@tlx.jit
def counted(out, n):
    notes = tlx.local_alloc((128,), tl.int32, 2)
    ready = tlx.alloc_barriers(1, arrive_count=3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(ready[0], 0)
            tl.store(out + tl.arange(0, 128), tlx.local_load(notes[0]) + tlx.local_load(notes[1]))
        with tlx.async_task(num_warps=4, replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            # An arrival whose predicate is false is none.
            tlx.barrier_arrive(ready[0], 1, pred=n > 100)
            tlx.local_store(notes[who], tl.arange(0, 128) * (10 * who + 1))
            # One task, however many warps it has, arrives as often as it says: 1 + 2.
            tlx.barrier_arrive(ready[0], 1 + who)


@tlx.jit
def conditional_wait(out, n):
    bars = tlx.alloc_barriers(1)
    # Nobody ever arrives: only a predicate that is false lets this go on.
    tlx.barrier_wait(bars[0], 0, pred=n > 100)
    tl.store(out, n)


@tlx.jit
def conditional_copy(x_desc, out, n):
    tile = tlx.local_alloc((16, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    tlx.local_store(tile[0], tl.full((16, 64), 3.0, tl.float16))
    tlx.fence("async_shared")
    # Neither announced nor copied nor waited for.
    tlx.barrier_expect_bytes(full[0], 2048, pred=n > 100)
    tlx.async_descriptor_load(x_desc, tile[0], [0, 0], full[0], pred=n > 100)
    tlx.barrier_wait(full[0], 0, pred=n > 100)
    at = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(out + at, tlx.local_load(tile[0]))
    tlx.fence("async_shared")
    tlx.barrier_expect_bytes(full[0], 2048, pred=n > 3)
    tlx.async_descriptor_load(x_desc, tile[0], [0, 0], full[0], pred=n > 3)
    tlx.barrier_wait(full[0], 0, pred=n > 3)
    tl.store(out + 1024 + at, tlx.local_load(tile[0]))


@tlx.jit
def made_anew(out, rounds):
    for i in range(rounds):
        # Each time at its first phase.
        bars = tlx.alloc_barriers(1)
        tlx.barrier_wait(bars[0], 1)
        tlx.barrier_arrive(bars[0])
        tlx.barrier_wait(bars[0], 0)
        tl.store(out + i, i + 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out + rounds, rounds)
        with tlx.async_task(num_warps=4):
            own = tlx.alloc_barriers(2)
            tlx.barrier_arrive(own[1])
            tlx.barrier_wait(own[1], 0)
            tl.store(out + rounds + 1, rounds)


@triton.jit
def arrive_at(bars, slot):
    # Which kind of barrier it is stays with the allocation.
    tlx.barrier_arrive(tlx.local_view(bars, slot))


@tlx.jit
def by_thread(out):
    notes = tlx.local_alloc((128,), tl.int32, 2)
    # Two tasks of four warps, each thread of which arrives once.
    ready = tlx.alloc_warp_barrier(1, num_warps=4, num_arrivals=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(ready[0], 0)
            tl.store(out + tl.arange(0, 128), tlx.local_load(notes[0]) - tlx.local_load(notes[1]))
        with tlx.async_task(num_warps=4, replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            tlx.local_store(notes[who], tl.arange(0, 128) * (3 - who))
            arrive_at(ready, 0)


@tlx.jit
def announced(x_desc, out, rows):
    tiles = tlx.local_alloc((16, 64), tl.float16, 2)
    full = tlx.alloc_barriers(1)
    # One announcement for both copies, which is the one arrival as well.
    tlx.barrier_expect_bytes(full[0], 2 * 16 * 64 * tlx.size_of(tlx.dtype_of(x_desc)))
    tlx.async_descriptor_load(x_desc, tiles[0], [0, 0], full[0])
    # Half of this block lies outside: zeros, whose bytes count all the same.
    tlx.async_descriptor_load(x_desc, tiles[1], [rows - 8, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    at = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(out + at, tlx.local_load(tiles[0]))
    tl.store(out + 16 * 64 + at, tlx.local_load(tiles[1]))


@tlx.jit
def turns(out, rounds):
    note = tlx.local_alloc((128,), tl.int32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out + 128, rounds)
        with tlx.async_task(num_warps=4, replicate=2):
            who: tl.constexpr = tlx.async_task_replica_id()
            if who == 0:
                for _ in range(rounds):
                    tlx.named_barrier_wait(10, 256)
                    tlx.local_store(note[0], tlx.local_load(note[0]) + 1)
                    tlx.named_barrier_arrive(9, 256)
            else:
                tlx.local_store(note[0], tl.zeros((128,), tl.int32))
                # Does not block: the other's turn is first.
                tlx.named_barrier_arrive(10, 256)
                for i in range(rounds):
                    tlx.named_barrier_wait(9, 256)
                    tlx.local_store(note[0], tlx.local_load(note[0]) * 2)
                    if i < rounds - 1:
                        tlx.named_barrier_arrive(10, 256)
                tl.store(out + tl.arange(0, 128), tlx.local_load(note[0]))


@tlx.jit
def ring(x_desc, out, tiles, STAGES: tl.constexpr):
    slots = tlx.local_alloc((16, 64), tl.float16, STAGES)
    full, empty = tlx.alloc_barriers(STAGES), tlx.alloc_barriers(STAGES)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(tiles):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], 16 * 64 * 2)
                tlx.async_descriptor_load(x_desc, tlx.local_view(slots, slot), [k * 16, 0], full[slot])
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
            for k in range(tiles):
                slot, phase = tlx.get_bufidx_phase(k, STAGES)
                tlx.barrier_wait(full[slot], phase)
                block = tlx.local_load(slots[slot])
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot])
                tl.store(out + k * 1024 + at, block + k)


def halves(rows: int) -> np.ndarray:
    """Small whole numbers, which fp16 adds exactly."""
    return (np.arange(rows * 64) % 251).astype(np.float16).reshape(rows, 64)


CASES = {
    "parity": Case(parity, lambda: (np.full(6, -1, np.int32),), {0: lambda out: [1, 0, 1, 2, 3, 4]}),
    "counted": Case(counted, lambda: (np.zeros(128, np.int32), 5), {0: lambda out, n: np.arange(128) * 12}),
    "conditional wait": Case(conditional_wait, lambda: (np.zeros(1, np.int32), 5), {0: lambda out, n: [5]}),
    "conditional copy": Case(
        conditional_copy,
        lambda: (Described(halves(16), (16, 64)), np.zeros((32, 64), np.float16), 5),
        {1: lambda x, out, n: np.concatenate([np.full((16, 64), 3), x])},
    ),
    "made anew": Case(
        made_anew, lambda: (np.zeros(7, np.int32), 5), {0: lambda out, rounds: [1, 2, 3, 4, 5, rounds, rounds]}
    ),
    "by thread": Case(by_thread, lambda: (np.zeros(128, np.int32),), {0: lambda out: np.arange(128)}),
    "announced": Case(
        announced,
        lambda: (Described(halves(40), (16, 64)), np.full((32, 64), -1, np.float16), 40),
        {1: lambda x, out, rows: np.concatenate([x[:16], x[32:], np.zeros((8, 64))])},
    ),
    "turns": Case(
        turns,
        lambda: (np.zeros(129, np.int32), 6),
        {0: lambda out, rounds: [2 ** (rounds + 1) - 2] * 128 + [rounds]},
    ),
    "ring": Case(
        ring,
        lambda: (Described(halves(112), (16, 64)), np.zeros((112, 64), np.float16), 7),
        {1: lambda x, out, tiles: x + np.arange(112)[:, None] // 16},
        {"STAGES": 3},
    ),
}
