"""Storage aliases, bulk copies, reductions, gathers: who shares which bytes, and what arrives where."""

import itertools

import numpy as np
import pytest
import triton.language as tl
from hypothesis import given
from hypothesis import strategies as st

import tlx
from tlx.sim.aliases import AliasSpec, ReuseGroup
from tlx.sim.shared import Buffer
from tlx.sim.sites import NOWHERE
from tlx.sim.storage import Storage

from .launch import SCHEDULES, descriptor


def buffer(size, num):
    """``num`` slots of ``size`` bytes."""
    return Buffer([size], tl.int8, num, NOWHERE)


def spec_of(*buffers, size=None):
    spec = AliasSpec("shared", size, NOWHERE, lambda spec, nbytes: Storage(nbytes))
    for member in buffers:
        spec.add(member)
    return spec


def places(member):
    return [(member.start(i), member.start(i) + member.tile_bytes) for i in range(member.num)]


def test_the_attention_layout():
    """Scores share each slot with the pair of slices of P, then alpha; these follow each other."""
    scores, p, alpha = buffer(64, 2), buffer(16, 4), buffer(4, 2)
    spec = spec_of(scores, p, alpha)
    inner = ReuseGroup(ReuseGroup(p, group_size=2), alpha, group_type="distinct")
    spec.set_buffer_overlap(ReuseGroup(scores, inner))
    spec.settle()
    assert places(scores) == [(0, 64), (64, 128)]
    assert places(p) == [(0, 16), (16, 32), (64, 80), (80, 96)]
    assert places(alpha) == [(32, 36), (96, 100)]


def test_without_a_tree_all_begin_together():
    first, second = buffer(16, 3), buffer(64, 1)
    spec_of(first, second)
    assert first.place is second.place
    assert first.place.nbytes == 64
    assert places(first) == [(0, 16), (16, 32), (32, 48)]


@given(sizes=st.lists(st.integers(1, 64), min_size=1, max_size=5), num=st.integers(1, 4), distinct=st.booleans())
def test_distinct_members_never_overlap(sizes, num, distinct):
    members = [buffer(size, num) for size in sizes]
    spec = spec_of(*members)
    spec.set_buffer_overlap(ReuseGroup(*members, group_type="distinct" if distinct else "shared"))
    spec.settle()
    for i in range(num):
        parts = sorted(places(member)[i] for member in members)
        if distinct:
            assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(parts))
        else:
            assert len({start for start, _ in parts}) == 1
    assert max(stop for member in members for _, stop in places(member)) <= members[0].place.nbytes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda spec, a, b: spec.set_buffer_overlap(ReuseGroup(a, buffer(4, 1))), "was not allocated with this"),
        (lambda spec, a, b: [spec.set_buffer_overlap(ReuseGroup(a, b)) for _ in range(2)], "has been called"),
        (lambda spec, a, b: (a.place, spec.set_buffer_overlap(ReuseGroup(a, b))), "after the first use"),
        (lambda spec, a, b: spec.set_buffer_overlap(a), "takes a reuse_group"),
        (lambda spec, a, b: (a.place, spec.add(buffer(999, 1))), "reaches to byte 999"),
    ],
)
def test_misuse(change, message):
    a, b = buffer(16, 2), buffer(32, 1)
    with pytest.raises(tlx.sim.SimulationError, match=message):
        change(spec_of(a, b), a, b)


def test_an_explicit_size_must_do():
    a = buffer(16, 4)
    spec_of(a, size=48)
    with pytest.raises(tlx.sim.SimulationError, match="reaches to byte 64 of a storage alias of 48"):
        a.slot(0)


@tlx.jit
def take_turns(x_desc, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    pool = tlx.storage_alias_spec()
    tiles = tlx.local_alloc((ROWS, COLS), tl.float16, 2, reuse=pool)
    total = tlx.local_alloc((ROWS, COLS), tl.float32, 1, reuse=pool)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], 2 * ROWS * COLS * 2)
    for i in tl.static_range(2):
        tlx.async_descriptor_load(x_desc, tiles[i], [i * ROWS, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    both = tlx.local_load(tiles[0]).to(tl.float32) + tlx.local_load(tiles[1]).to(tl.float32)
    tlx.local_store(total[0], both)
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out + at, tlx.local_load(total[0]))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_after_the_other(schedule):
    x = np.random.default_rng(0).standard_normal((32, 16)).astype(np.float16)
    out = np.zeros((16, 16), np.float32)
    tlx.sim.run(take_turns, (1,), (descriptor(x, [16, 16]), out, 16, 16), schedule=schedule).raise_for_findings()
    np.testing.assert_array_equal(out, x[:16].astype(np.float32) + x[16:].astype(np.float32))


@tlx.jit
def through_bulk(x, out, ROWS, STAGES: tl.constexpr, SIZE: tl.constexpr):
    ring = tlx.local_alloc((SIZE,), tl.float32, STAGES)
    full = tlx.alloc_barriers(STAGES)
    for i in range(ROWS):
        slot, phase = tlx.get_bufidx_phase(i, STAGES)
        tlx.async_descriptor_store_wait(STAGES - 1)
        tlx.barrier_expect_bytes(full[slot], SIZE * 4)
        tlx.async_load(x + i * SIZE, ring[slot], bulk=True, bulk_size=SIZE * 4, barrier=full[slot])
        tlx.barrier_wait(full[slot], phase)
        tlx.async_store(out + i * SIZE, ring[slot], SIZE * 4)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bulk_copies(schedule):
    x = np.arange(7 * 16, dtype=np.float32).reshape(7, 16)
    out = np.zeros_like(x)
    tlx.sim.run(through_bulk, (1,), (x, out, 7, 3, 16), schedule=schedule).raise_for_findings()
    np.testing.assert_array_equal(out, x)


@tlx.jit
def filled(x, out, n, OTHER: tl.constexpr):
    at = tl.arange(0, 32)
    tile = tlx.local_alloc((32,), tl.float32, 1)
    other = 0.0  # a tensor, as Triton reads it
    if OTHER == "run-time":
        other += n
    if OTHER in ("run-time", "zero"):
        tlx.async_load(x + at, tile[0], mask=at < n, other=other)
    else:
        tlx.async_load(x + at, tile[0], mask=at < n, other=OTHER)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(out + at, tlx.local_load(tile[0]))


def test_a_copy_fills_with_zeros_only():
    x, out = np.ones(32, np.float32), np.full(32, -1, np.float32)
    for other in (None, 0, 0.0, False, "zero"):
        tlx.sim.run(filled, (1,), (x, out, 20, other)).raise_for_findings()
        np.testing.assert_array_equal(out, np.arange(32) < 20)
    for other, said in ((7.0, "7.0"), (-0.0, "-0.0"), ("run-time", "a run-time fp32")):
        with pytest.raises(tlx.sim.SimulationError, match=rf"fills masked elements with 0, and other is {said}"):
            tlx.sim.run(filled, (1,), (x, out, 20, other))


@tlx.jit
def padded_bytes(x):
    small = x.to(tl.pointer_type(tl.float8e4nv))
    tlx.make_tensor_descriptor(None, small, [16, 16], [16, 1], [16, 16], padding_option="nan")


def test_bytes_are_not_padded_with_nan():
    with pytest.raises(tlx.sim.SimulationError, match="moves fp8e4nv as bytes, which it cannot fill with NaN"):
        tlx.sim.run(padded_bytes, (1,), (np.zeros((16, 16), np.uint8),))


@tlx.jit
def reduce_into(x, out_desc, SIZE: tl.constexpr, HOW: tl.constexpr):
    tile = tlx.local_alloc((SIZE, SIZE), tl.int32, 1)
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tlx.local_store(tile[0], tl.load(x + at))
    tlx.fence("async_shared")
    tlx.async_descriptor_store(out_desc, tile[0], [0, 0], store_reduce=HOW)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize(
    ("how", "function"),
    [
        *(("add", np.add), ("min", np.minimum), ("max", np.maximum)),
        *(("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)),
    ],
)
def test_reducing_stores(how, function):
    rng = np.random.default_rng(0)
    x, out = (rng.integers(-100, 100, (16, 16)).astype(np.int32) for _ in range(2))
    wanted = function(out, x)
    tlx.sim.run(reduce_into, (1,), (x, descriptor(out, [16, 16]), 16, how)).raise_for_findings()
    np.testing.assert_array_equal(out, wanted)


@tlx.jit
def pick(x, order, out, SIZE: tl.constexpr):
    tile = tlx.local_alloc((SIZE,), tl.float32, 2)
    lanes = tl.arange(0, SIZE)
    indices = tl.load(order + lanes)
    tlx.local_store(tile[0], tl.load(x + lanes))
    picked = tlx.local_gather(tile[0], indices, 0)
    tlx.local_scatter(tile[1], picked, indices, 0)
    tl.store(out + lanes, picked)
    tl.store(out + SIZE + lanes, tlx.local_load(tile[1]))


def test_gather_and_scatter():
    rng = np.random.default_rng(0)
    x, order = rng.standard_normal(16).astype(np.float32), rng.permutation(16).astype(np.int32)
    out = np.zeros((2, 16), np.float32)
    tlx.sim.run(pick, (1,), (x, order, out, 16)).raise_for_findings()
    np.testing.assert_array_equal(out, [x[order], x])


@tlx.jit
def follow_pointers(pointers, out, SIZE: tl.constexpr):
    lanes = tl.arange(0, SIZE)
    base = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0) * SIZE + lanes, tl.load(base + lanes))


def test_pointers_out_of_memory():
    rows = [tlx.sim.tensor(np.full(16, i, np.float32)) for i in range(3)]
    out = np.zeros((3, 16), np.float32)
    pointers = np.array([row.data_ptr() for row in rows], np.int64)
    tlx.sim.run(follow_pointers, (3,), (pointers, out, 16)).raise_for_findings()
    np.testing.assert_array_equal(out, np.arange(3)[:, None] * np.ones(16))
    report = tlx.sim.run(follow_pointers, (1,), (pointers + 64, out, 16))
    assert report.codes == {"global-out-of-bounds"}
