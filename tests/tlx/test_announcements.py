"""Bytes announced on a barrier and bytes that copies bring to it, counted where both can be seen."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx

pytestmark = pytest.mark.triton

#: bytes of a tile of each of the two kinds
A, B = 64 * 64 * 2, 128 * 64 * 2


@tlx.jit
def together(a, b, out, n, BYTES: tl.constexpr):
    """One announcement for two copies."""
    tile, wide = tlx.local_alloc((64, 64), tl.float16, 1), tlx.local_alloc((128, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], BYTES)
    tlx.async_descriptor_load(a, tile[0], [0, 0], bars[0])
    tlx.async_descriptor_load(b, wide[0], [0, 0], bars[0])
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


@tlx.jit
def ring(a, b, out, n, BYTES: tl.constexpr):
    """The same in a task, round by round."""
    tiles, wide = tlx.local_alloc((64, 64), tl.float16, 2), tlx.local_alloc((128, 64), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(n):
                slot, _ = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_expect_bytes(full[slot], BYTES)
                tlx.async_descriptor_load(a, tiles[slot], [0, 0], full[slot])
                tlx.async_descriptor_load(b, wide[slot], [0, 0], full[slot])
        with tlx.async_task(num_warps=4):
            for i in range(n):
                slot, phase = tlx.get_bufidx_phase(i, 2)
                tlx.barrier_wait(full[slot], phase)
                tl.store(out, tl.sum(tlx.local_load(tiles[slot])) + tl.sum(tlx.local_load(wide[slot])))


@tlx.jit
def crossed(a, b, out, n, FIRST: tl.constexpr, SECOND: tl.constexpr):
    """Two barriers of one array, each with one copy."""
    tile, wide = tlx.local_alloc((64, 64), tl.float16, 1), tlx.local_alloc((128, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(2)
    tlx.barrier_expect_bytes(bars[0], FIRST)
    tlx.barrier_expect_bytes(bars[1], SECOND)
    tlx.async_descriptor_load(a, tile[0], [0, 0], bars[0])
    tlx.async_descriptor_load(b, wide[0], [0, 0], bars[1])
    tlx.barrier_wait(bars[0], 0)
    tlx.barrier_wait(bars[1], 0)
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


@tlx.jit
def load(desc, tile, bar):
    tlx.async_descriptor_load(desc, tile, [0, 0], bar)


@tlx.jit
def through_a_helper(a, b, out, n, BYTES: tl.constexpr):
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], BYTES)
    load(a, tile[0], bars[0])
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


@tlx.jit
def two_announcers(a, b, out, n, BYTES: tl.constexpr):
    """A phase of two arrivals, each with bytes of its own."""
    tile, wide = tlx.local_alloc((64, 64), tl.float16, 1), tlx.local_alloc((128, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1, arrive_count=2)
    tlx.barrier_expect_bytes(bars[0], 16384)
    tlx.barrier_expect_bytes(bars[0], BYTES)
    tlx.async_descriptor_load(a, tile[0], [0, 0], bars[0])
    tlx.async_descriptor_load(b, wide[0], [0, 0], bars[0])
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


@tlx.jit
def by_several_tasks(a, b, out, n, BYTES: tl.constexpr):
    """One task announces what it and another one bring."""
    tile, wide = tlx.local_alloc((64, 64), tl.float16, 1), tlx.local_alloc((128, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(full[0], 0)
            tl.store(out, tl.sum(tlx.local_load(tile[0])))
        with tlx.async_task(num_warps=1):
            tlx.barrier_expect_bytes(full[0], BYTES)
            tlx.async_descriptor_load(a, tile[0], [0, 0], full[0])
        with tlx.async_task(num_warps=1):
            tlx.async_descriptor_load(b, wide[0], [0, 0], full[0])


@tlx.jit
def once_for_a_loop(a, b, out, n, BYTES: tl.constexpr):
    tiles = tlx.local_alloc((64, 64), tl.float16, 4)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], BYTES)
    for i in range(4):
        tlx.async_descriptor_load(a, tiles[i], [0, i * 64], bars[0])
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, tl.sum(tlx.local_load(tiles[0])))


@tlx.jit
def now_and_then(a, b, out, n, BYTES: tl.constexpr):
    """More is announced where more is brought, each in a branch of its own."""
    tile, wide = tlx.local_alloc((64, 64), tl.float16, 1), tlx.local_alloc((128, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    if n > 3:
        tlx.barrier_expect_bytes(bars[0], BYTES)
    else:
        tlx.barrier_expect_bytes(bars[0], 8192)
    tlx.async_descriptor_load(a, tile[0], [0, 0], bars[0])
    if n > 3:
        tlx.async_descriptor_load(b, wide[0], [0, 0], bars[0])
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


@tlx.jit
def conditional(a, b, out, n, BYTES: tl.constexpr):
    """Either both copies or only the first."""
    tile, wide = tlx.local_alloc((64, 64), tl.float16, 1), tlx.local_alloc((128, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(bars[0], 8192, pred=n <= 3)
    tlx.barrier_expect_bytes(bars[0], BYTES, pred=n > 3)
    tlx.async_descriptor_load(a, tile[0], [0, 0], bars[0])
    tlx.async_descriptor_load(b, wide[0], [0, 0], bars[0], pred=n > 3)
    tlx.barrier_wait(bars[0], 0)
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


@tlx.jit
def through_a_loop(a, b, out, n, BYTES: tl.constexpr):
    """A loop carries the barrier: nobody knows which one it is."""
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    here, there = tlx.alloc_barriers(1), tlx.alloc_barriers(1)
    now, later = here[0], there[0]
    for _ in range(n):
        tlx.barrier_expect_bytes(now, BYTES)
        tlx.async_descriptor_load(a, tile[0], [0, 0], now)
        tlx.barrier_wait(now, 0)
        now, later = later, now
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


@tlx.jit
def unannounced(a, b, out, n, SLOT: tl.constexpr):
    tiles = tlx.local_alloc((64, 64), tl.float16, 2)
    bars = tlx.alloc_barriers(2)
    for i in tl.static_range(2):
        if i <= SLOT:
            tlx.barrier_expect_bytes(bars[i], 8192)
    tlx.async_descriptor_load(a, tiles[0], [0, 0], bars[0], pred=SLOT >= 0)
    if SLOT == -1:
        tlx.async_descriptor_load(a, tiles[0], [0, 0], bars[0])
    tlx.async_descriptor_load(a, tiles[1], [0, 0], bars[1])
    tlx.barrier_wait(bars[1], 0)
    tl.store(out, tl.sum(tlx.local_load(tiles[1])))


@tlx.jit
def under_one_condition(a, b, out, n, BYTES: tl.constexpr):
    """Both happen, or neither."""
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    bars = tlx.alloc_barriers(1)
    go = n > 3
    tlx.barrier_expect_bytes(bars[0], BYTES, pred=go)
    tlx.async_descriptor_load(a, tile[0], [0, 0], bars[0], pred=go)
    tlx.barrier_wait(bars[0], 0, pred=go)
    tl.store(out, tl.sum(tlx.local_load(tile[0])))


def compiled(kernel, **constants):
    types = {"a": "tensordesc<fp16[64,64]>", "b": "tensordesc<fp16[128,64]>", "out": "*fp16", "n": "i32"}
    return tlx.compile(kernel, types, constants)


@pytest.mark.parametrize(
    ("kernel", "constants"),
    [
        (together, {"BYTES": A + B}),
        (ring, {"BYTES": A + B}),
        (crossed, {"FIRST": A, "SECOND": B}),
        (through_a_helper, {"BYTES": A}),
        (two_announcers, {"BYTES": A}),
        (by_several_tasks, {"BYTES": A + B}),
        (once_for_a_loop, {"BYTES": 4 * A}),
        (now_and_then, {"BYTES": A + B}),
        (conditional, {"BYTES": A + B}),
        (under_one_condition, {"BYTES": A}),
        (through_a_loop, {"BYTES": A}),
        (unannounced, {"SLOT": 1}),
    ],
)
def test_bytes_that_come_out_even(kernel, constants):
    assert "mbarrier.arrive.expect_tx" in compiled(kernel, **constants).asm["ptx"]


@pytest.mark.parametrize(
    ("kernel", "constants", "message"),
    [
        (
            together,
            {"BYTES": 2 * (A + B)},
            f"announces {2 * (A + B)} bytes, but the copies here bring {A + B}: {A} (line",
        ),
        (together, {"BYTES": A}, "the phase would be over before all of them are there"),
        (ring, {"BYTES": A}, f"announces {A} bytes, but the copies here bring {A + B}: {A} (line"),
        (ring, {"BYTES": B}, f"announces {B} bytes, but the copies here bring {A + B}: {A} (line"),
        (crossed, {"FIRST": B, "SECOND": A}, f"announces {B} bytes, but the copies here bring {A}: {A} (line"),
        (through_a_helper, {"BYTES": 3 * A}, f"announces {3 * A} bytes, but the copies here bring {A}: {A} (line"),
        (under_one_condition, {"BYTES": 2 * A}, f"announces {2 * A} bytes, but the copies here bring {A}: {A} (line"),
        (two_announcers, {"BYTES": B}, f") announces {2 * B} bytes together, but the copies here bring {A + B}: "),
    ],
)
def test_bytes_that_do_not(kernel, constants, message):
    with pytest.raises(tlx.TLXError) as caught:
        compiled(kernel, **constants)
    place, text, caret, said = str(caught.value).split("\n")
    assert place.rpartition("test_announcements.py:")[2].rstrip(":").isdigit()
    assert text.strip().startswith("tlx.barrier_expect_bytes(")
    assert caret.strip() == "^"
    assert message in said
    assert "announce the sum of its tiles" in said


@pytest.mark.parametrize(
    ("slot", "line"),
    [
        (-1, "tlx.async_descriptor_load(a, tiles[0], [0, 0], bars[0])"),
        (0, "tlx.async_descriptor_load(a, tiles[1], [0, 0], bars[1])"),
    ],
)
def test_copies_that_nobody_announces(slot, line):
    with pytest.raises(tlx.TLXError, match=f"brings {A} bytes to a barrier for which nothing announces them") as caught:
        compiled(unannounced, SLOT=slot)
    assert str(caught.value).split("\n")[1].strip() == line
