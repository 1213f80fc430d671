"""Named barriers whose threads do not fit those of the tasks that use them."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton
import triton.language as tl

import tlx

pytestmark = pytest.mark.triton


@tlx.jit
def hand_over(out, THREADS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_arrive(9, THREADS)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(9, THREADS)
            tl.store(out, 1.0)


@tlx.jit
def to_a_small_task(out, THREADS: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_arrive(9, THREADS)
        with tlx.async_task(num_warps=1):
            tlx.named_barrier_wait(9, THREADS)
            tl.store(out, 1.0)


@tlx.jit
def meeting(out, THREADS: tl.constexpr):
    """All copies of a task, and nobody else."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4, replicate=2):
            tlx.named_barrier_wait(9, THREADS)
            tl.store(out, 2.0)


@tlx.jit
def turns(out, GROUPS: tl.constexpr):
    """One group alone hands the turn to itself."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4, replicate=GROUPS):
            group: tl.constexpr = tlx.async_task_replica_id()
            if group == 0:
                tlx.named_barrier_arrive(8, 128 * GROUPS)
            for _ in range(4):
                tlx.named_barrier_wait(8 + group, 128 * GROUPS)
                tl.store(out, 2.0)
                tlx.named_barrier_arrive(8 + (group + 1) % GROUPS, 128 * GROUPS)


@tlx.jit
def without_tasks(out, THREADS: tl.constexpr):
    tlx.named_barrier_wait(9, THREADS)
    tl.store(out, 1.0)


@triton.jit(noinline=True)
def called(THREADS: tl.constexpr):
    tlx.named_barrier_wait(9, THREADS)


@tlx.jit
def through_a_call(out, THREADS: tl.constexpr):
    """Who calls a helper is not told where it is compiled."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            called(THREADS)
        with tlx.async_task(num_warps=4):
            called(THREADS)
            tl.store(out, 1.0)


def compiled(kernel, **constants):
    return tlx.compile(kernel, {"out": "*fp32"}, constants)


@pytest.mark.parametrize(
    ("kernel", "constants"),
    [
        (hand_over, {"THREADS": 256}),
        (to_a_small_task, {"THREADS": 160}),
        (meeting, {"THREADS": 256}),
        (turns, {"GROUPS": 2}),
        (turns, {"GROUPS": 1}),
        (without_tasks, {"THREADS": 128}),
        (through_a_call, {"THREADS": 256}),
    ],
)
def test_threads_that_make_up_the_count(kernel, constants):
    assert "bar.sync 9" in compiled(kernel, **constants).asm["ptx"] or constants.get("GROUPS")


@pytest.mark.parametrize(
    ("kernel", "threads", "line", "message"),
    [
        (hand_over, 128, "tlx.named_barrier_arrive(9, THREADS)", "over at once and the wait at "),
        (hand_over, 192, "tlx.named_barrier_arrive(9, THREADS)", "those of the tasks that use it are 128 + 128"),
        (meeting, 384, "tlx.named_barrier_wait(9, THREADS)", "those of the tasks that use it are 128 + 128"),
        (without_tasks, 256, "tlx.named_barrier_wait(9, THREADS)", "those of the tasks that use it are 128"),
    ],
)
def test_threads_that_do_not(kernel, threads, line, message):
    with pytest.raises(tlx.TLXError) as caught:
        compiled(kernel, THREADS=threads)
    shown = str(caught.value).split("\n")
    caret = next(number for number, row in enumerate(shown) if row.strip() == "^")
    assert "test_named.py:" in shown[0]
    assert shown[caret - 1].strip() == line
    assert message in shown[-1]
