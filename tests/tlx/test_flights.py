"""What a wait that lets products stay in flight has landed, and what it has not."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx

pytestmark = pytest.mark.triton


@tlx.jit
def alone(out, PENDINGS: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tlx.async_dot(a[0], a[0])
    x = tlx.async_dot_wait(PENDINGS, x)
    tl.store(out, tl.sum(x))


@tlx.jit
def of_two(out, PENDINGS: tl.constexpr, NEWEST: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tlx.async_dot(a[0], a[0])
    y = tlx.async_dot(a[0], a[0])
    if NEWEST:
        y = tlx.async_dot_wait(PENDINGS, y)
        tl.store(out, tl.sum(y))
    else:
        x = tlx.async_dot_wait(PENDINGS, x)
        tl.store(out, tl.sum(x))
    # A product that nobody reads is not even issued.
    y = tlx.async_dot_wait(0, y)
    tl.store(out + 1, tl.sum(y))


@tlx.jit
def accumulated(out, PENDINGS: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 2)
    acc = tl.zeros((64, 64), tl.float32)
    for _ in range(8):
        acc = tlx.async_dot(a[0], a[1], acc)
        acc = tlx.async_dot_wait(1, acc)
    acc = tlx.async_dot_wait(PENDINGS, acc)
    tl.store(out, tl.sum(acc))


@tlx.jit
def counted(out, n, PENDINGS: tl.constexpr):
    """A while loop, whose values go through a condition."""
    a = tlx.local_alloc((64, 64), tl.float16, 2)
    acc = tl.zeros((64, 64), tl.float32)
    turn = n
    while turn < 8:
        acc = tlx.async_dot(a[0], a[1], acc)
        acc = tlx.async_dot_wait(PENDINGS, acc)
        turn += 1
    tl.store(out, tl.sum(acc))


@tlx.jit
def pipelined(out, n, PENDINGS: tl.constexpr):
    """Each turn reads the product of the turn before."""
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    before = tlx.async_dot(a[0], a[0])
    total = 0.0
    for _ in range(n):
        newer = tlx.async_dot(a[0], a[0])
        before = tlx.async_dot_wait(PENDINGS, before)
        total += tl.sum(before)
        before = newer
    before = tlx.async_dot_wait(0, before)
    tl.store(out, total + tl.sum(before))


@tlx.jit
def after_another_wait(out, PENDINGS: tl.constexpr):
    """The first wait has landed both; the second only threads the older one."""
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tlx.async_dot(a[0], a[0])
    y = tlx.async_dot(a[0], a[0])
    y = tlx.async_dot_wait(0, y)
    x = tlx.async_dot_wait(PENDINGS, x)
    tl.store(out, tl.sum(x + y))


@tlx.jit
def in_a_branch(out, n, PENDINGS: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tlx.async_dot(a[0], a[0])
    y = tl.zeros((64, 64), tl.float32)
    if n > 3:
        y = tlx.async_dot(a[0], a[0], y)
        x = tlx.async_dot_wait(PENDINGS, x)
        y = tlx.async_dot_wait(0, y)
    else:
        x = tlx.async_dot_wait(0, x)
    tl.store(out, tl.sum(x + y))


@tlx.jit
def on_one_way(out, n, PENDINGS: tl.constexpr):
    """On the way that issues another product, one may stay in flight: the wait is judged by that."""
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tlx.async_dot(a[0], a[0])
    y = tl.zeros((64, 64), tl.float32)
    if n > 3:
        y = tlx.async_dot(a[0], a[0], y)
    x = tlx.async_dot_wait(PENDINGS, x)
    y = tlx.async_dot_wait(0, y)
    tl.store(out, tl.sum(x + y))


@tlx.jit
def in_two_tasks(out, PENDINGS: tl.constexpr):
    """What one task issues does not count for another."""
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            y = tlx.async_dot(a[0], a[0])
            y = tlx.async_dot(a[0], a[0], y)
            y = tlx.async_dot_wait(0, y)
            tl.store(out, tl.sum(y))
        with tlx.async_task(num_warps=4):
            x = tlx.async_dot(a[0], a[0])
            x = tlx.async_dot_wait(PENDINGS, x)
            tl.store(out, tl.sum(x))


@tlx.jit
def behind_a_product_of_triton(out, PENDINGS: tl.constexpr):
    """tl.dot waits for everything."""
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tlx.async_dot(a[0], a[0])
    z = tl.dot(tlx.local_load(a[0]), tlx.local_load(a[0]))
    x = tlx.async_dot_wait(PENDINGS, x)
    tl.store(out, tl.sum(x + z))


@tlx.jit
def behind_an_early_return(out, n, PENDINGS: tl.constexpr):
    """Blocks that jump are not followed; nothing is refused."""
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tlx.async_dot(a[0], a[0])
    if n > 3:
        return
    x = tlx.async_dot_wait(PENDINGS, x)
    tl.store(out, tl.sum(x))


@tlx.jit
def of_the_turn_before(out, n, PENDINGS: tl.constexpr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    x = tl.zeros((64, 64), tl.float32)
    for _ in range(n):
        tl.store(out, tl.sum(x))
        x = tlx.async_dot(a[0], a[0], x)
        if PENDINGS == 0:
            x = tlx.async_dot_wait(0, x)
    x = tlx.async_dot_wait(0, x)
    tl.store(out, tl.sum(x))


def compiled(kernel, **constants):
    types = {"out": "*fp32", "n": "i32"}
    return tlx.compile(kernel, {name: types[name] for name in kernel.arg_names if name in types}, constants)


@pytest.mark.parametrize(
    ("kernel", "constants"),
    [
        (alone, {"PENDINGS": 0}),
        (of_two, {"PENDINGS": 1, "NEWEST": False}),
        (of_two, {"PENDINGS": 0, "NEWEST": True}),
        (accumulated, {"PENDINGS": 0}),
        (counted, {"PENDINGS": 0}),
        (pipelined, {"PENDINGS": 1}),
        (after_another_wait, {"PENDINGS": 1}),
        (in_a_branch, {"PENDINGS": 1}),
        (on_one_way, {"PENDINGS": 1}),
        (in_two_tasks, {"PENDINGS": 0}),
        (behind_a_product_of_triton, {"PENDINGS": 1}),
        (behind_an_early_return, {"PENDINGS": 1}),
        (of_the_turn_before, {"PENDINGS": 0}),
    ],
)
def test_what_a_wait_has_landed(kernel, constants):
    assert "wgmma.wait_group" in compiled(kernel, **constants).asm["ptx"]


@pytest.mark.parametrize(
    ("kernel", "constants", "issued", "line"),
    [
        (alone, {"PENDINGS": 1}, 0, "tl.store(out, tl.sum(x))"),
        (of_two, {"PENDINGS": 1, "NEWEST": True}, 0, "tl.store(out, tl.sum(y))"),
        (of_two, {"PENDINGS": 2, "NEWEST": False}, 1, "tl.store(out, tl.sum(x))"),
        (accumulated, {"PENDINGS": 1}, 0, "tl.store(out, tl.sum(acc))"),
        (counted, {"PENDINGS": 1}, 0, "tl.store(out, tl.sum(acc))"),
        (pipelined, {"PENDINGS": 2}, 1, "total += tl.sum(before)"),
        (in_a_branch, {"PENDINGS": 2}, 1, "tl.store(out, tl.sum(x + y))"),
        (on_one_way, {"PENDINGS": 2}, 1, "tl.store(out, tl.sum(x + y))"),
        (in_two_tasks, {"PENDINGS": 1}, 0, "tl.store(out, tl.sum(x))"),
    ],
)
def test_a_wait_that_lets_the_product_stay_in_flight(kernel, constants, issued, line):
    with pytest.raises(tlx.TLXError) as caught:
        compiled(kernel, **constants)
    place, text, caret, message = str(caught.value).split("\n")
    assert place.rpartition("test_flights.py:")[2].rstrip(":").isdigit()
    assert text.strip() == line
    assert caret.strip() == "^"
    allowed = constants["PENDINGS"]
    assert "is read here while the tensor cores are still writing it" in message
    assert (
        f"lets the newest {allowed} stay in flight, and this is one of them, with {issued} issued after it" in message
    )
    assert f"thread it through async_dot_wait({issued}, ...) before it is read" in message


def test_a_product_of_the_turn_before():
    with pytest.raises(tlx.TLXError, match="thread it through async_dot_wait first") as caught:
        compiled(of_the_turn_before, PENDINGS=1)
    assert str(caught.value).split("\n")[1].strip() == "tl.store(out, tl.sum(x))"
