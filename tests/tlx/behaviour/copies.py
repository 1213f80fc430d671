"""What moves between global and shared memory, and what orders it."""

from __future__ import annotations

import numpy as np
import triton.language as tl

import tlx

from .barriers import halves
from .case import Case, Described


@tlx.jit
def grouped(x, out, tiles, STAGES: tl.constexpr):
    at = tl.arange(0, 512)
    ring = tlx.local_alloc((512,), tl.float32, STAGES)
    for k in tl.static_range(STAGES - 1):
        tlx.async_load(x + k * 512 + at, ring[k], mask=(at >= 0) & (k < tiles))
        tlx.async_load_commit_group()
    total = tl.zeros((512,), tl.float32)
    for k in range(tiles):
        tlx.async_load_wait_group(STAGES - 2)
        total += tlx.local_load(ring[k % STAGES])
        # Past the end nothing is copied, but the empty group keeps the count.
        following = k + STAGES - 1
        tlx.async_load(x + following * 512 + at, ring[following % STAGES], mask=(at >= 0) & (following < tiles))
        tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(out + at, total)


@tlx.jit
def masked(x, out, n):
    at = tl.arange(0, 512)
    tiles = tlx.local_alloc((512,), tl.float32, 2)
    for i in tl.static_range(2):
        tlx.local_store(tiles[i], tl.full((512,), 7.0, tl.float32))
    tlx.async_load(x + at, tiles[0], mask=at < n)
    token = tlx.async_load(x + at, tiles[1], mask=at < n, other=0.0)
    token = tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0, [token])
    tl.store(out + at, tlx.local_load(tiles[0], token))
    tl.store(out + 512 + at, tlx.local_load(tiles[1], token))


@tlx.jit
def masked_pairs(x, out, n):
    at = tl.arange(0, 512)
    tile = tlx.local_alloc((512,), tl.float16, 1)
    tlx.local_store(tile[0], tl.full((512,), 7.0, tl.float16))
    # Two elements are the least that a thread copies: the mask must not change between them.
    tlx.async_load(x + at, tile[0], mask=(at < 2 * n) & (at // 2 % 3 != 0))
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(out + at, tlx.local_load(tile[0]))


@tlx.jit
def padded(x, out, rows):
    at = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tiles = tlx.local_alloc((16, 64), tl.float16, 2)
    bars = tlx.alloc_barriers(2)
    empty = tlx.make_tensor_descriptor(None, x, [rows, 48], [64, 1], [16, 64])
    filled = tlx.make_tensor_descriptor(None, x, [rows, 48], [64, 1], [16, 64], padding_option="nan")
    for i in tl.static_range(2):
        tlx.barrier_expect_bytes(bars[i], 2048)
    tlx.async_descriptor_load(empty, tiles[0], [0, 0], bars[0])
    tlx.async_descriptor_load(filled, tiles[1], [0, 0], bars[1])
    for i in tl.static_range(2):
        tlx.barrier_wait(bars[i], 0)
        tl.store(out + i * 1024 + at, tlx.local_load(tiles[i]))


@tlx.jit
def stored(x_desc, out_desc, sums_desc, tiles):
    at = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((16, 64), tl.float16, 1)
    number = tlx.local_alloc((16, 64), tl.float32, 1)
    for k in range(tiles):
        # The copies of the round before have read the tiles; they may be written again.
        tlx.async_descriptor_store_wait(0)
        block = x_desc.load([k * 16, 0])
        tlx.local_store(tile[0], block * 2)
        tlx.local_store(number[0], block.to(tl.float32) + at * 0)
        tlx.fence("async_shared")
        tlx.async_descriptor_store(out_desc, tile[0], [k * 16, 0])
        tlx.async_descriptor_store(sums_desc, number[0], [0, 0], store_reduce="add")
    tlx.async_descriptor_store_wait(0)


@tlx.jit
def remade(x, out, tiles):
    places = tlx.allocate_tensor_descriptor(2)
    at = tl.arange(0, 16)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((16, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    for k in range(tiles):
        place = k % 2
        tlx.make_tensor_descriptor(places[place], x + k * 1024, [16, 64], [64, 1], [16, 64])
        desc = tlx.reinterpret_tensor_descriptor(places[place], [16, 64], tl.float16)
        tlx.barrier_expect_bytes(bars[0], 2048)
        tlx.async_descriptor_load(desc, tile[0], [0, 0], bars[0])
        tlx.barrier_wait(bars[0], k & 1)
        tl.store(out + k * 1024 + at, tlx.local_load(tile[0]))
        tlx.fence("async_shared")


@tlx.jit
def handed_over(out, flag):
    if tl.program_id(0) == 0:
        tl.store(out, 42)
        tlx.fence("gpu")
        tl.atomic_xchg(flag, 1)
    else:
        seen = tl.atomic_add(flag, 0)
        while seen == 0:
            seen = tl.atomic_add(flag, 0)
        tlx.fence("gpu")
        tl.store(out + 1, tl.load(out, volatile=True) + 1)


@tlx.jit
def asked(out, n):
    start = tlx.clock64()
    tl.store(out, tlx.vote_ballot_sync(0xFFFFFFFF, tlx.thread_id(0) < n))
    tl.store(out + 1, tlx.cluster_cta_rank())
    tl.store(out + 2, tlx.cluster_size_1d())
    tl.store(out + 3, (tlx.clock64() > start).to(tl.int32))
    tl.store(out + 4, tlx.size_of(tlx.dtype_of(out)))


def beyond(x, rows, fill):
    """What a descriptor of ``rows`` rows of 48 columns reads where ``x`` lies."""
    inside = (np.arange(16)[:, None] < rows) & (np.arange(64)[None, :] < 48)
    return np.where(inside, x, np.float16(fill))


CASES = {
    "grouped": Case(
        grouped,
        lambda: (np.arange(2560, dtype=np.float32), np.zeros(512, np.float32), 5),
        {1: lambda x, out, tiles: x.reshape(5, 512).sum(0)},
        {"STAGES": 3},
    ),
    "masked": Case(
        masked,
        lambda: (np.arange(512, dtype=np.float32), np.full(1024, -1, np.float32), 100),
        {1: lambda x, out, n: np.tile(np.where(np.arange(512) < n, x, 0), 2)},
    ),
    "masked pairs": Case(
        masked_pairs,
        lambda: (np.arange(1, 513, dtype=np.float16), np.full(512, -1, np.float16), 101),
        {1: lambda x, out, n: np.where((np.arange(512) < 202) & (np.arange(512) // 2 % 3 != 0), x, 0)},
    ),
    "padded": Case(
        padded,
        lambda: (halves(16), np.zeros((32, 64), np.float16), 11),
        {1: lambda x, out, rows: np.concatenate([beyond(x, rows, 0), beyond(x, rows, np.nan)])},
    ),
    "stored": Case(
        stored,
        lambda: (
            Described(halves(64), (16, 64)),
            Described(np.zeros((64, 64), np.float16), (16, 64)),
            Described(np.ones((16, 64), np.float32), (16, 64)),
            4,
        ),
        {
            1: lambda x, out, sums, tiles: x * 2,
            2: lambda x, out, sums, tiles: 1 + x.astype(np.float32).reshape(4, 16, 64).sum(0),
        },
    ),
    "remade": Case(
        remade,
        lambda: (halves(80), np.zeros((80, 64), np.float16), 5),
        {1: lambda x, out, tiles: x},
    ),
    "handed over": Case(
        handed_over,
        lambda: (np.zeros(2, np.int32), np.zeros(1, np.int32)),
        {0: lambda out, flag: [42, 43]},
        grid=(2,),
    ),
    "asked": Case(asked, lambda: (np.zeros(5, np.int32), 5), {0: lambda out, n: [31, 0, 1, 1, 4]}, threads=True),
}
