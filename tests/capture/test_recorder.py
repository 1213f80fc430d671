"""One process's record: what tells launches apart, when times are taken, and that nothing waits."""

from __future__ import annotations

import json
import threading

import pytest

from tlxify.capture.inside.counts import CHUNK, Counts, read_counts
from tlxify.capture.inside.facts import Signature, plain
from tlxify.capture.inside.recorder import Recorder
from tlxify.capture.parts import join


class dtype:
    """Named as torch's and Triton's own."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    def __init__(self, address, shape, strides, kind="bfloat16", itemsize=2):
        self.address, self.shape, self.strides = address, shape, strides
        self.dtype, self.itemsize = dtype(kind), itemsize

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides

    def element_size(self):
        return self.itemsize


def kernel(x, y, n, eps=1e-6, BLOCK: tl.constexpr = 64):  # noqa: F821
    """Stands for a jit function."""


class Timer:
    """A device that is always `lag` samples behind."""

    def __init__(self, lag):
        self.lag, self.taken, self.log = lag, 0, []

    def begin(self, hold):
        self.log.append(("begin", hold > 0))
        self.taken += 1
        return self.taken

    def end(self, token):
        self.log.append(("end", token))

    def microseconds(self, token, *, wait):
        self.log.append(("ask", token, wait))
        return float(token) if wait or token <= self.taken - self.lag else None


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path / "parts", limit=10)


def slot(recorder, x, y, n=8, **options):
    return recorder.slot(recorder.meet(kernel), {"x": x, "y": y, "n": n}, (2, 1, 1), "triton", options)


def test_layout_alignment_and_overlap_tell_kinds_apart(recorder):
    a, b = Tensor(1 << 20, (8, 4), (4, 1)), Tensor(1 << 24, (8, 4), (4, 1))
    first = slot(recorder, a, b)
    assert slot(recorder, Tensor(1 << 28, (8, 4), (4, 1)), b) is first, "other addresses are no other kind"
    others = [
        slot(recorder, Tensor((1 << 20) + 2, (8, 4), (4, 1)), b),
        slot(recorder, Tensor(1 << 20, (8, 4), (8, 1)), b),
        slot(recorder, Tensor(1 << 20, (8, 4), (4, 1), "float16"), b),
        slot(recorder, a, Tensor((1 << 20) + 16, (8, 4), (4, 1))),
        slot(recorder, a, b, n=9),
        slot(recorder, a, b, num_warps=8),
    ]
    assert len({id(each.kind) for each in (first, *others)}) == 7
    for each in (first, *others):
        each.cell[0] += 1
    found = join(recorder.folder)
    assert len(found.launches) == 7
    assert [x.overlaps for x in found.launches if x.overlaps] == [(("x", "y"),)]
    launch = found.launches[0]
    assert dict(launch.scalars) == {"n": 8, "eps": 1e-6, "BLOCK": 64}, "defaults are arguments too"
    assert (launch.constexprs, launch.grid) == ({"BLOCK"}, (2,))


def test_interleaved_rows_do_not_hide_an_empty_tensor():
    signature = Signature(kernel)
    empty = signature.launch_facts({"x": Tensor(64, (0, 4), (4, 1)), "y": Tensor(64, (8,), (1,)), "n": 1})
    assert empty["overlaps"] == []


@pytest.mark.parametrize(
    ("value", "told"),
    [(None, None), (2.5, 2.5), ((1, "a"), {"tuple": [1, "a"]}), (dtype("float16"), {"dtype": "fp16"})],
)
def test_values_are_told_as_json(value, told):
    assert json.loads(json.dumps(plain(value))) == told


def test_a_few_launches_are_timed_and_none_waits(recorder):
    timer = recorder._timer = Timer(lag=2)
    each = slot(recorder, Tensor(64, (8,), (1,)), Tensor(1 << 20, (8,), (1,)))
    due = []
    for number in range(1, 2001):
        each.cell[0] += 1
        if number >= each.due:
            due.append(number)
            kind = recorder.closely(each, lambda: each)
            assert recorder.timed(kind, lambda: "launched") == "launched"
    assert due[:4] == [2, 8, 20, 44], "ever more rarely"
    assert timer.log[0] == ("begin", True), "the first launch of all only measured the host"
    assert timer.taken == len(due) - 1
    assert not any(entry[2] for entry in timer.log if entry[0] == "ask"), "while the program runs, nobody waits"
    recorder.finish()
    (launch,) = join(recorder.folder).launches
    assert launch.launches == 2000
    assert launch.times == tuple(map(float, range(1, timer.taken + 1))), "what was still out is asked for at the end"


def test_a_closer_look_moves_a_launch_to_its_kind(recorder):
    a, b = Tensor(1 << 20, (8,), (1,)), Tensor(1 << 24, (8,), (1,))
    apart, same = slot(recorder, a, b), slot(recorder, a, a)
    apart.cell[0] += 5
    recorder.closely(apart, lambda: same)
    assert (apart.cell[0], same.cell[0]) == (4, 1)


def test_a_device_that_fails_does_not_fail_the_program(recorder):
    class Broken(Timer):
        def begin(self, hold):
            raise RuntimeError("device lost")

    recorder._timer = Broken(0)
    each = slot(recorder, Tensor(64, (8,), (1,)), Tensor(1 << 20, (8,), (1,)))
    for _ in range(2):
        assert recorder.timed(each.kind, lambda: 5) == 5
    assert any("device lost" in text for text in join(recorder.folder).troubles)


def test_counters_of_many_threads_add_up(tmp_path):
    counts = Counts(tmp_path / "counts")

    def work():
        cells = [counts.counter(number) for number in range(1, 1 + CHUNK // 3)]
        for cell in cells:
            for _ in range(3):
                cell[0] += 1

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert read_counts(tmp_path / "counts") == dict.fromkeys(range(1, 1 + CHUNK // 3), 12)
