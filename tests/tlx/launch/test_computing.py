"""Registers and shared memory of launches in which a role computes an operand."""

from __future__ import annotations

import pytest

import tlx.launch as launch
from tests.tlx.launch.fakes import TILES, DType, Memory
from tlx.launch.computing import Computing
from tlx.launch.guard import Fallback, tma_view
from tlx.launch.tuning import plan_ring

SCHEDULE = launch.Schedule(split="BLOCK_M", output=("BLOCK_M", "BLOCK_N"))
INT8, INT32 = DType("int8", 1), DType("int32", 4)


def boxes(BLOCK_M, BLOCK_N, BLOCK_K, CONSUMERS, **_):
    return {
        "a_desc": launch.Box((BLOCK_M // CONSUMERS, BLOCK_K), count=CONSUMERS),
        "w_desc": launch.Box((BLOCK_K, BLOCK_N)),
        "operand_ring": launch.Box((BLOCK_K, BLOCK_N), like="a_desc"),
    }


def plan(rows, columns, depth, warps, stages=3, dtype=INT8, **more):
    views = {
        "a_desc": tma_view("a", Memory(1 << 20), (512, 256), (256, 1)),
        "w_desc": tma_view("w", Memory(1 << 24, dtype=dtype), (256, 512), (512, 1)),
    }
    tiles = {**TILES, "BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": depth, **more}
    return plan_ring(SCHEDULE, boxes, views, tiles, warps, stages)


@pytest.mark.parametrize(
    ("tiles", "warps", "expected"),
    [
        ((64, 64, 64), 4, (1, 4, 232, 232)),
        ((64, 256, 64), 4, (1, 4, 232, 232)),
        ((128, 128, 64), 8, (2, 4, 136, 200)),
        ((64, 128, 64), 8, (1, 8, 136, 200)),
        ((256, 128, 64), 8, (2, 4, 184, 104)),
    ],
)
def test_what_the_consumers_leave_the_role_has(tiles, warps, expected):
    found = plan(*tiles, warps)
    assert (found.consumers, found.consumer_warps, found.consumer_registers, found.transform_registers) == expected
    groups = found.consumers * found.consumer_warps // 4 + 2
    threads = 128 * groups
    pool = 65_536 // threads // 8 * 8 * threads
    assert 128 * ((groups - 2) * found.consumer_registers + found.transform_registers + 40) <= pool
    assert found.constexprs["TRANSFORM_REGISTERS"] == found.transform_registers
    assert (found.maxnreg, found.resident) == (None, 1)


@pytest.mark.parametrize(
    ("tiles", "dtype", "text"),
    [
        ((128, 256, 64), INT8, "256 columns"),
        ((256, 128, 64), INT32, "it needs 152"),
        ((128, 128, 128), INT32, "it needs 280"),
    ],
)
def test_what_would_spill_is_the_original_s(tiles, dtype, text):
    with pytest.raises(Fallback, match=text) as caught:
        plan(*tiles, 8, dtype=dtype)
    assert caught.value.code == "registers"


def test_what_the_role_writes_takes_shared_memory():
    stage = (128 * 64 + 64 * 128) * 2 + 64 * 128
    found = plan(128, 128, 64, 8, stages=99)
    assert found.stages == found.deepest == (232_448 - 128 * 128) // (stage + 16)


def test_a_block_is_no_box_of_the_tma():
    # 512 columns are more than a box has; the role writes them all the same, and the raw tile is what is refused.
    with pytest.raises(Fallback, match="the box of w_desc"):
        plan(64, 512, 32, 4, CONSUMERS=1, CONSUMER_WARPS=4, CONSUMER_REGISTERS=232)


def test_registers_that_are_asked_for_are_kept():
    assert plan(128, 128, 64, 8, CONSUMER_REGISTERS=152).consumer_registers == 152
    needs = Computing(warps=8, accumulators=64, columns=128, raw_bytes=8192, block=8192, producer=40)
    assert needs.registers(152) == (152, 168)
