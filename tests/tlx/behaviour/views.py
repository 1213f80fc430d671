"""Buffers, views of them, and buffers that share memory."""

from __future__ import annotations

import numpy as np
import triton.language as tl

import tlx

from .case import Case


@tlx.jit
def views(x, out):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float32, 1)
    tlx.local_store(tile[0], tl.load(x + at))
    turned = tlx.local_load(tlx.local_trans(tile[0]))
    flat = tlx.local_load(tlx.local_reshape(tile[0], [32, 128]))
    bits = tlx.local_load(tlx.local_reinterpret(tile[0], tl.int32))
    # Written through one view, seen through all.
    part = tlx.local_slice(tile[0], [32, 0], [32, 64])
    tlx.local_store(part, tlx.local_load(part) + 1)
    tl.store(out + at, turned)
    tl.store(out + 4096 + tl.arange(0, 32)[:, None] * 128 + tl.arange(0, 128)[None, :], flat)
    tl.store(out + 8192 + at, bits.to(tl.float32))
    tl.store(out + 12288 + at, tlx.local_load(tile[0]))


@tlx.jit
def slots(out, first, SLOTS: tl.constexpr):
    at = tl.arange(0, 128)
    ring = tlx.local_alloc((128,), tl.int32, SLOTS)
    for i in range(SLOTS):
        tlx.local_store(ring[(first + i) % SLOTS], at + 1000 * i)
    for i in range(SLOTS):
        tl.store(out + i * 128 + at, tlx.local_load(tlx.local_view(ring, i)))


@tlx.jit
def first_dimension(out):
    at = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    ring = tlx.local_alloc((2, 16, 64), tl.float16, 2)
    tile = ring[1]
    for i in tl.static_range(2):
        tlx.local_store(tlx.local_view(tile, i), (at + 1024 * i).to(tl.float16))
    whole = tl.arange(0, 2)[:, None, None] * 1024 + at[None, :, :]
    tl.store(out + whole, tlx.local_load(tile))
    # Of a line, single elements.
    line = tlx.local_alloc((8,), tl.float32, 1)
    tlx.local_store(line[0], tl.arange(0, 8).to(tl.float32))
    tl.store(out + 2048 + tl.arange(0, 1), tlx.local_load(tlx.local_view(line[0], 5)))


@tlx.jit
def taken_over(x, out):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    words = tlx.local_alloc((64, 64), tl.int32, 1)
    again = tlx.local_alloc((64, 64), tl.float32, 1, reuse=words)
    tlx.local_store(words[0], tl.load(x + at))
    # The same bytes from the first one on, read as another type.
    tl.store(out + at, tlx.local_load(again[0]))


@tlx.jit
def pooled(out, n):
    pool = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    whole = tlx.local_alloc((256,), tl.int32, 2, reuse=pool)
    first = tlx.local_alloc((128,), tl.int32, 2, reuse=pool)
    second = tlx.local_alloc((128,), tl.int32, 2, reuse=pool)
    pool.set_buffer_overlap(
        tlx.reuse_group(
            whole,
            tlx.reuse_group(first, second, group_type=tlx.reuse_group_type.distinct),
            group_type=tlx.reuse_group_type.shared,
        )
    )
    for i in range(2):
        tlx.local_store(first[i], tl.arange(0, 128) + n * i)
        tlx.local_store(second[i], tl.arange(0, 128) + n * i + 128)
    tl.debug_barrier()
    # Each half of a slot is one of the two that follow each other.
    for i in range(2):
        tl.store(out + i * 256 + tl.arange(0, 256), tlx.local_load(whole[i]))


@tlx.jit
def chosen(x, picks, out):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float32, 2)
    index = tl.load(picks + at)
    tlx.local_store(tile[0], tl.load(x + at))
    tlx.local_scatter(tile[1], tlx.local_gather(tile[0], index, 0), index, 0)
    tl.store(out + at, tlx.local_load(tile[1]))


def floats() -> np.ndarray:
    return np.arange(4096, dtype=np.float32).reshape(64, 64)


def seen(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """All that the views of a tile show."""
    changed = x.copy()
    changed[32:] += 1
    return np.concatenate([x.T.ravel(), x.ravel(), x.view(np.int32).astype(np.float32).ravel(), changed.ravel()])


CASES = {
    "views": Case(views, lambda: (floats(), np.zeros(4 * 4096, np.float32)), {1: seen}),
    "slots": Case(
        slots,
        lambda: (np.zeros(3 * 128, np.int32), 2),
        {0: lambda out, first: [1000 * ((i - first) % 3) + at for i in range(3) for at in range(128)]},
        {"SLOTS": 3},
    ),
    "first dimension": Case(first_dimension, lambda: (np.zeros(2049, np.float32),), {0: lambda out: [*range(2048), 5]}),
    "taken over": Case(
        taken_over,
        lambda: (floats().view(np.int32), np.zeros((64, 64), np.float32)),
        {1: lambda x, out: x.view(np.float32)},
    ),
    "pooled": Case(
        pooled,
        lambda: (np.zeros(512, np.int32), 1000),
        {0: lambda out, n: np.concatenate([np.arange(256), np.arange(256) + n])},
    ),
    "chosen": Case(
        chosen,
        lambda: (
            floats(),
            np.stack([np.random.default_rng(column).permutation(64) for column in range(64)], 1).astype(np.int32),
            np.zeros((64, 64), np.float32),
        ),
        {2: lambda x, picks, out: x},
        triton=(3, 7),
    ),
}
