"""A variable that a task assigns to keeps its old value outside: reading it there is told with its line."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("triton")

import triton.language as tl

import tlx

pytestmark = pytest.mark.triton


@tlx.jit
def after(out, n):
    total = 0.0
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out, 1.0)
        with tlx.async_task(num_warps=4):
            total = tl.load(out) + 1.0
    tl.store(out, total)


@tlx.jit
def after_the_default_task(out, n):
    count = n
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(n):
                count += i
        with tlx.async_task(num_warps=4):
            tl.store(out, 1.0)
    if n > 3:
        count += 1
        tl.store(out, count)


@tlx.jit
def in_the_next_turn(out, n):
    bars = tlx.alloc_barriers(1)
    phase = 0
    for _ in range(n):
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.barrier_arrive(bars[0])
            with tlx.async_task(num_warps=4):
                tlx.barrier_wait(bars[0], phase)
                phase ^= 1


@tlx.jit
def at_the_top_of_the_next_turn(out, n):
    count = 0
    for _ in range(n):
        tl.store(out, count)
        with tlx.async_tasks():
            with tlx.async_task("default"):
                count = n
            with tlx.async_task(num_warps=4):
                tl.store(out, 1.0)


@tlx.jit
def unseen(out, n, FLAG: tl.constexpr):
    """Assigned anew before it is read, or read where the task's own value is seen, or never."""
    place, count, turn, spare = n, n, n, n
    if n > 5:
        with tlx.async_tasks():
            with tlx.async_task("default"):
                place = 1
                tl.store(out, place)
                spare = 3
            with tlx.async_task(num_warps=4):
                count = 2
                tl.store(out, count + 1)
                for turn in range(n):
                    tl.store(out, turn)
    else:
        tl.store(out, spare)
    place = 5
    count, _ = n, n
    for turn in range(n):
        tl.store(out, turn + place + count)
    if FLAG:
        tl.store(out, spare)


@tlx.jit
def copies(out, n):
    """Each task has a copy of its own, and another task has the value from outside."""
    start = n
    for _ in range(n):
        with tlx.async_tasks():
            with tlx.async_task("default"):
                start = 3
                tl.store(out, start)
            with tlx.async_task(num_warps=4):
                tl.store(out, start)


TYPES = {"out": "*fp32", "n": "i32"}


@pytest.fixture(autouse=True)
def compiled_anew(tmp_path, monkeypatch):
    """What comes from the cache is not looked at again."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize(
    ("kernel", "line", "name"),
    [
        (after, "tl.store(out, total)", "total"),
        (after_the_default_task, "count += 1", "count"),
        (in_the_next_turn, "tlx.barrier_wait(bars[0], phase)", "phase"),
        (at_the_top_of_the_next_turn, "tl.store(out, count)", "count"),
    ],
)
def test_an_old_value(kernel, line, name):
    with pytest.warns(UserWarning, match="has the value here that it had before async_tasks") as told:
        tlx.compile(kernel, TYPES)
    (warning,) = told
    place, text, caret, message = str(warning.message).split("\n")
    file, number = place.rstrip(":").rsplit(":", 1)
    assert (file, int(number)) == (warning.filename, warning.lineno)
    assert file.endswith("test_stale.py")
    assert text.strip() == line
    assert text[caret.index("^") :].startswith(name)
    assert message.startswith(f"{name} has the value")
    assert "ends with the task. Pass it on through memory, or take another name inside" in message


@pytest.mark.parametrize(("kernel", "constants"), [(unseen, {"FLAG": False}), (copies, {})])
def test_no_old_value(kernel, constants):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tlx.compile(kernel, TYPES, constants)
