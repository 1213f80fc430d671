"""The CUDA clock and the recorder's timer, on a torch.cuda that only keeps a list."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from tlxify.bench.cuda import LONGEST_HOLD, CudaClock
from tlxify.capture.inside.timing import LONGEST_HOLD as LONGEST_SPIN
from tlxify.capture.inside.timing import CudaTimer


class Cuda:
    """Events are numbered in the order in which they are recorded; one is ready when `done` says so."""

    def __init__(self):
        self.log, self.done, self.capturing = [], 0, False
        self.current, self.recorded, self.stats = "first", [], {}
        cuda = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing
                self.number = 0

            def record(self, stream=None):
                cuda.log.append("record")
                cuda.recorded.append(stream)
                self.number = len(cuda.log)

            def query(self):
                return self.number <= cuda.done

            def synchronize(self):
                cuda.log.append("wait")

            def elapsed_time(self, other):
                return float(other.number - self.number)

        self.Event = Event

    def _sleep(self, cycles):
        self.log.append(cycles)

    def current_stream(self):
        return self.current

    @contextlib.contextmanager
    def stream(self, stream):
        before, self.current = self.current, stream
        yield
        self.current = before

    def synchronize(self):
        self.log.append("settle")

    def memory_stats(self):
        return self.stats

    def is_current_stream_capturing(self):
        return self.capturing


@pytest.fixture
def cuda():
    return Cuda()


def test_the_clock_waits_only_when_it_is_read(cuda):
    clock = CudaClock(SimpleNamespace(cuda=cuda))
    clock.hold(0.5)
    start, end = clock.mark(), clock.mark()
    assert cuda.log == [1_000_000, "record", "record"]
    assert clock.between(start, end) == 1.0
    assert cuda.log[-1] == "wait"
    assert clock.hold(1e6) == LONGEST_HOLD
    assert cuda.log[-1] == LONGEST_HOLD * 2_000_000
    clock.settle()
    assert cuda.log[-1] == "settle"


def test_a_contender_that_makes_another_stream_current_does_not_take_the_marks_along(cuda):
    clock = CudaClock(SimpleNamespace(cuda=cuda))
    clock.mark()
    cuda.current = "another"
    clock.mark()
    assert cuda.recorded == ["first", "first"]


def test_memory_asked_of_the_driver_and_given_back_is_counted(cuda):
    clock = CudaClock(SimpleNamespace(cuda=cuda))
    assert clock.mapped() == 0
    cuda.stats = {"segment.all.allocated": 3, "segment.all.freed": 1, "allocation.all.allocated": 70}
    assert clock.mapped() == 4


def test_the_timer_spins_before_the_launch_and_asks_later(cuda):
    timer = CudaTimer(SimpleNamespace(cuda=cuda))
    token = timer.begin(50_000)
    cuda.log.append("launch")
    timer.end(token)
    assert cuda.log == [100_000, "record", "launch", "record"]
    assert timer.microseconds(token, wait=False) is None
    cuda.done = 99
    assert timer.microseconds(token, wait=False) == 2000.0
    assert "wait" not in cuda.log
    timer.begin(10**9)
    assert cuda.log[-2] == 2 * LONGEST_SPIN, "the device is never held for long"


def test_nothing_is_timed_while_a_graph_is_recorded(cuda):
    cuda.capturing = True
    assert CudaTimer(SimpleNamespace(cuda=cuda)).begin(50_000) is None
    assert cuda.log == []
