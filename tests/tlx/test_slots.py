"""Slot numbers that become constants only when the module is folded."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx
from tlx.lowering import slots

pytestmark = pytest.mark.triton


@tlx.jit
def through_a_variable(out, n, SLOT: tl.constexpr):
    ring = tlx.local_alloc((64, 64), tl.float16, 2)
    slot = SLOT
    tlx.local_store(ring[slot], tl.zeros((64, 64), tl.float16))
    tl.store(out, tl.sum(tlx.local_load(ring[0])))


@tlx.jit
def computed(out, n, SLOT: tl.constexpr):
    bars = tlx.alloc_barriers(2)
    before = SLOT
    before -= 1
    tlx.barrier_arrive(bars[before + 1])
    tlx.barrier_wait(bars[0], 0)


@tlx.jit
def behind_a_condition(out, n, SLOT: tl.constexpr):
    bars = tlx.alloc_barriers(2)
    slot = SLOT
    if n > 3:
        tlx.barrier_arrive(bars[slot])
    tlx.barrier_wait(bars[0], 0)


@tlx.jit
def of_a_turn(out, n, SLOT: tl.constexpr):
    """The last turn uses slot SLOT."""
    bars = tlx.alloc_barriers(2)
    for i in range(SLOT):
        tlx.barrier_arrive(bars[i + 1])
    tlx.barrier_wait(bars[0], 0)


@tlx.jit
def of_inner_turns(out, n, SLOT: tl.constexpr):
    ring = tlx.local_alloc((64, 64), tl.float16, 2)
    for _ in range(n):
        for i in range(SLOT + 1):
            tlx.local_store(ring[i], tl.zeros((64, 64), tl.float16))
    tl.store(out, tl.sum(tlx.local_load(ring[0])))


@tlx.jit
def of_a_copy(out, n, SLOT: tl.constexpr):
    """The last copy of the task uses slot SLOT."""
    bars = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
        with tlx.async_task(num_warps=1, replicate=2):
            copy = tlx.async_task_replica_id()
            tlx.barrier_arrive(bars[copy + SLOT - 1])


@tlx.jit
def of_a_pool(out, n, SLOT: tl.constexpr):
    """The pool has a place for that slot, which belongs to another slot of the other member."""
    pool = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    small = tlx.local_alloc((64, 64), tl.float16, 2, reuse=pool)
    large = tlx.local_alloc((64, 64), tl.float32, 4, reuse=pool)
    pool.set_buffer_overlap(tlx.reuse_group(small, large, group_type=tlx.reuse_group_type.shared))
    slot = SLOT
    tlx.local_store(small[slot], tl.zeros((64, 64), tl.float16))
    tlx.local_store(large[n], tl.zeros((64, 64), tl.float32))
    tl.store(out, tl.sum(tlx.local_load(small[0])))


@tlx.jit
def never(out, n, SLOT: tl.constexpr):
    """Views and uses of slot 2, each of which something keeps from happening."""
    bars = tlx.alloc_barriers(2)
    last = 2
    unused = bars[last]
    tlx.barrier_arrive(bars[last], pred=last < 2)
    if last < 2:
        tlx.barrier_arrive(bars[last])
    for i in range(2):
        following = bars[i + 1]
        if i < 1:
            tlx.barrier_arrive(following)
        tlx.barrier_arrive(bars[i + 1], pred=i < 1)
    for i in range(n):
        tlx.barrier_arrive(bars[i])
    for _ in range(4, 4):
        tlx.barrier_arrive(bars[last])
    unused = bars[0]
    tlx.barrier_arrive(unused)


@tlx.jit
def meant_for_others(out, n, SLOT: tl.constexpr):
    """Each copy hands over to the next one; that the last one has none is known to the launch."""
    bars = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
        with tlx.async_task(num_warps=1, replicate=2):
            copy = tlx.async_task_replica_id()
            if copy + n < 2:
                tlx.barrier_arrive(bars[copy + 1])
            tlx.barrier_arrive(bars[copy + 1], pred=copy + n < 2)


@tlx.jit
def of_a_turn_without_inner_ones(out, n, SLOT: tl.constexpr):
    """In the last turn the inner loop has none."""
    ring = tlx.local_alloc((64,), tl.float16, 3)
    for i in range(4):
        for j in range(i, 3):
            tlx.local_store(ring[i], tl.zeros((64,), tl.float16) + j)
    tl.store(out, tl.sum(tlx.local_load(ring[0])))


@tlx.jit
def of_a_turn_with_as_many_as_told(out, n, SLOT: tl.constexpr):
    """How many turns the inner loop has is for the launch to say."""
    ring = tlx.local_alloc((64,), tl.float16, 2)
    for i in range(4):
        for j in range(tl.where(i < 2, n, 0)):
            tlx.local_store(ring[i], tl.zeros((64,), tl.float16) + j)
    tl.store(out, tl.sum(tlx.local_load(ring[0])))


@tlx.jit
def of_a_turn_in_a_loop_of_any(out, n, SLOT: tl.constexpr):
    """The outer loop may have no turn at all; but then nothing happens."""
    bars = tlx.alloc_barriers(2)
    for _ in range(n):
        for i in range(SLOT):
            tlx.barrier_arrive(bars[i + 1])
    tl.store(out, 1.0)


@tlx.jit
def copied_to(out, n, SLOT: tl.constexpr):
    ring = tlx.local_alloc((256,), tl.float16, 2)
    for i in range(SLOT):
        tlx.async_load(out + tl.arange(0, 256), ring[i + 1])
    tlx.async_load_wait_group(0)
    tl.store(out, tl.sum(tlx.local_load(ring[0])))


def compiled(kernel, slot):
    types = {"out": "*fp16", "n": "i32"}
    return tlx.compile(kernel, types, {"SLOT": slot})


KERNELS = [
    (through_a_variable, "tlx.local_store(ring[slot], "),
    (computed, "tlx.barrier_arrive(bars[before + 1])"),
    (behind_a_condition, "tlx.barrier_arrive(bars[slot])"),
    (of_a_turn, "tlx.barrier_arrive(bars[i + 1])"),
    (of_inner_turns, "tlx.local_store(ring[i], "),
    (of_a_turn_in_a_loop_of_any, "tlx.barrier_arrive(bars[i + 1])"),
    (copied_to, "tlx.async_load(out + tl.arange(0, 256), ring[i + 1])"),
    (of_a_copy, "tlx.barrier_arrive(bars[copy + SLOT - 1])"),
    (of_a_pool, "tlx.local_store(small[slot], "),
]


@pytest.mark.parametrize(("kernel", "line"), KERNELS)
def test_a_constant_slot_out_of_range(kernel, line):
    assert compiled(kernel, 1).asm["cubin"]
    with pytest.raises(tlx.TLXError) as caught:
        compiled(kernel, 2)
    place, text, caret, message = str(caught.value).split("\n")
    assert place.rpartition("test_slots.py:")[2].rstrip(":").isdigit()
    assert text.strip().startswith(line)
    assert caret.strip() == "^"
    turns = (of_a_turn, of_inner_turns, of_a_turn_in_a_loop_of_any, copied_to)
    turning = " in a turn of its loop" if kernel in turns else ""
    assert message.startswith(f"slot 2 is out of range{turning}: there are 2, numbered from 0")


@pytest.mark.parametrize(
    "kernel", [never, meant_for_others, of_a_turn_without_inner_ones, of_a_turn_with_as_many_as_told]
)
def test_what_is_never_used(kernel):
    assert compiled(kernel, 0).asm["cubin"]


VIEW = "%view = ttg.memdesc_index %ring[{0}] : !ttg.memdesc<2x1xi64, #s, #m, mutable> -> !ttg.memdesc<1xi64, #s, #m>"
USE = "ttng.init_barrier %view, 1 : !ttg.memdesc<1xi64, #s, #m>"


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        pytest.param(
            ("%a = arith.constant 7 : i32", "%b = arith.constant -2 : i32", "%x = arith.divsi %a, %b : i32"), -3
        ),
        pytest.param(
            ("%a = arith.constant -7 : i32", "%b = arith.constant 2 : i32", "%x = arith.remsi %a, %b : i32"), -1
        ),
        pytest.param(("%a = arith.constant 5 : i64", "%x = arith.trunci %a : i64 to i32"), 5),
        pytest.param(("%a = arith.constant 5 : i32", "%x = arith.addi %a, %unknown : i32"), None),
        pytest.param(
            ("%a = arith.constant 5 : i32", "%b = arith.constant 0 : i32", "%x = arith.divsi %a, %b : i32"), None
        ),
        pytest.param(("%a = arith.constant 5 : i32", "%x = arith.shli %a, %a : i32"), None),
    ],
)
def test_arithmetic(lines, number):
    text = "\n".join((*lines, VIEW.format("%x"), USE))
    if number is None:
        slots.check(text)
        return
    with pytest.raises(tlx.TLXError, match=f"slot {number} is out of range"):
        slots.check(text)
