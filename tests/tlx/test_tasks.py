"""Regions and tasks: who runs what, and what of it is visible where."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl
from triton.compiler.errors import CompilationError

import tlx

pytestmark = pytest.mark.triton


def partitions(compiled):
    """Warps of each partition of each region, in text order."""
    return [int(warps) for warps in re.findall(r"partition\d+\(.*num_warps\((\d+)\)", compiled.asm["ttgir"])]


@triton.jit
def mark(out, value):
    # A helper of its own: its code depends on the warps and replica of the task that calls it.
    offsets = tl.arange(0, 128)
    tl.store(out + offsets, value + offsets)


@tlx.jit
def replica_of_caller():
    return tlx.async_task_replica_id() + 1


@tlx.jit
def roles(out, n):
    base = n * 1000
    with tlx.async_tasks():
        with tlx.async_task(num_warps=2, replicate=2):
            me: tl.constexpr = tlx.async_task_replica_id()
            base = base + 10 * replica_of_caller()
            if me == 1:
                mark(out + 128, base)
            else:
                mark(out + 256, base)
        with tlx.async_task("default"):
            base = 7
            mark(out, base)
        with tlx.async_task(num_warps=1):
            mark(out + 384, base)
    tl.store(out + 512, base)


@pytest.mark.filterwarnings(r"ignore:(?s).*base has the value here that it had before async_tasks:UserWarning")
def test_roles():
    compiled = tlx.compile(roles, {"out": "*i32", "n": "i32"})
    assert partitions(compiled) == [2, 2, 1]
    # 4 + 2 + 2 + 1 warps, filled up to whole warp groups.
    assert compiled.num_warps == 12
    ttgir = compiled.asm["ttgir"]
    region, after = ttgir[ttgir.index("ttg.warp_specialize") :].split("num_warps(1)")
    assert len(re.findall(r"tt\.store", region)) == 3
    # The default task's 7 is gone after the region: what is stored is n * 1000 again.
    assert "dense<7>" in ttgir
    assert re.findall(r"tt\.store %\S+, (%\w+)", after)[-1] == "%base"


@tlx.jit
def only_default(out, EXTRA: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            mark(out, 1)
        if EXTRA:
            with tlx.async_task(num_warps=4):
                mark(out + 128, 2)


def test_constexpr_conditions_between_tasks():
    alone = tlx.compile(only_default, {"out": "*i32"}, {"EXTRA": False})
    assert "warp_specialize" not in alone.asm["ttgir"]
    assert alone.num_warps == 4
    assert partitions(tlx.compile(only_default, {"out": "*i32"}, {"EXTRA": True})) == [4]


@tlx.jit
def several_regions(out, n):
    for step in range(n):
        with tlx.async_tasks():
            with tlx.async_task("default"):
                mark(out, step)
            with tlx.async_task(num_warps=4):
                mark(out + 128, step)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            mark(out + 256, n)
        with tlx.async_task(num_warps=2):
            mark(out + 384, n)


def test_regions_in_loops_and_in_sequence():
    assert partitions(tlx.compile(several_regions, {"out": "*i32", "n": "i32"})) == [4, 2]


@tlx.jit
def block_only_in_default(out):
    offsets = tl.arange(0, 128)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out + offsets, offsets)
        with tlx.async_task(num_warps=4):
            # Bound anew before it is used, so nothing of the outer block is captured.
            offsets = tl.arange(0, 256)
            tl.store(out + offsets + 128, offsets)


def test_a_worker_may_reuse_the_name_of_an_outer_block():
    assert partitions(tlx.compile(block_only_in_default, {"out": "*i32"})) == [4]


@tlx.jit
def bound_inside(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            inner = 3
            mark(out, inner)
        with tlx.async_task(num_warps=4):
            mark(out + 128, 2)
    tl.store(out, inner)


def test_names_bound_in_a_task_end_with_it():
    with pytest.raises(CompilationError, match="inner is not defined"):
        tlx.compile(bound_inside, {"out": "*i32"})


@tlx.jit
def turns(a_desc, out, n):
    tile = tlx.local_alloc((64, 64), tl.float16, 2)
    loaded = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(loaded[0], 2 * 64 * 64 * 2)
            for part in tl.static_range(2):
                tlx.async_descriptor_load(a_desc, tile[part], [part * 64, n], loaded[0])
        with tlx.async_task(num_warps=4, replicate=2):
            me: tl.constexpr = tlx.async_task_replica_id()
            if me == 0:
                tlx.named_barrier_arrive(9, 256)
                tlx.named_barrier_wait(10, 256)
            else:
                tlx.named_barrier_wait(9, 256)
            tlx.barrier_wait(loaded[0], 0)
            acc = tlx.async_dot(tile[me], tile[1 - me])
            if me == 1:
                tlx.named_barrier_arrive(10, 256)
            acc = tlx.async_dot_wait(0, acc)
            rows = tl.arange(0, 64)
            tl.store(out + me * 4096 + rows[:, None] * 64 + rows[None, :], acc)


def test_turns_by_named_barriers():
    compiled = tlx.compile(turns, {"a_desc": "tensordesc<fp16[64,64]>", "out": "*fp32", "n": "i32"})
    ptx = compiled.asm["ptx"]
    assert ptx.count("bar.arrive 9, 256;") == ptx.count("bar.sync 9, 256;") == 1
    assert ptx.count("bar.arrive 10, 256;") == ptx.count("bar.sync 10, 256;") == 1
    # Without registers there is no budget to set.
    assert compiled.facts.counts["USETMAXREG"] == 0
    assert compiled.num_warps == 12


@tlx.jit
def sized_default(out, DEFAULT: tl.constexpr, OTHERS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default", registers=DEFAULT):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4, num_regs=OTHERS, replicate=2):
            tl.store(out + 1, 2.0)


def test_the_default_task_may_ask_for_what_the_others_leave():
    constants = {"DEFAULT": 40, "OTHERS": 232}
    ptx = tlx.compile(sized_default, {"out": "*fp32"}, constants).asm["ptx"]
    assert "setmaxnreg.dec.sync.aligned.u32 \t40" in ptx


@pytest.mark.parametrize(
    ("default", "others", "message"),
    [
        (48, 232, "the default task asks for 48 registers per thread; the others leave it 40"),
        (40, None, "registers of the default task mean something only if all others give theirs"),
        (44, 232, "registers must be a multiple of 8 from 24 to 256"),
    ],
)
def test_registers_that_the_default_task_cannot_have(default, others, message):
    with pytest.raises(CompilationError, match=message):
        tlx.compile(sized_default, {"out": "*fp32"}, {"DEFAULT": default, "OTHERS": others})


@tlx.jit
def region_of_its_own(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4):
            tl.store(out + 1, 2.0)


@tlx.jit
def exclusive_beside_a_helper(out):
    region_of_its_own(out)
    with tlx.async_tasks(exclusive=True):
        with tlx.async_task("default"):
            tl.store(out, 3.0)
        with tlx.async_task(num_warps=4):
            tl.store(out + 1, 4.0)


def test_exclusive_holds_over_all_functions():
    with pytest.raises(CompilationError, match=r"promised that there is no other region, and there is one at .*:\d+"):
        tlx.compile(exclusive_beside_a_helper, {"out": "*fp32"})


@tlx.jit
def placed(out):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4, warp_group_start_id=4):
            tl.store(out + 1, 2.0)


def test_the_compiler_places_the_warps():
    with pytest.raises(CompilationError, match="warp_group_start_id is not supported: stock Triton places the warps"):
        tlx.compile(placed, {"out": "*fp32"})
