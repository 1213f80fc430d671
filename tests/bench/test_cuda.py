"""The CUDA clock and the recorder's timer, on a torch.cuda that only keeps a list."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tlxify.bench.cuda import LONGEST_HOLD, CudaClock
from tlxify.capture.inside.timing import LONGEST_HOLD as LONGEST_SPIN
from tlxify.capture.inside.timing import CudaTimer


class Cuda:
    """Events are numbered in the order in which they are recorded; one is ready when `done` says so."""

    def __init__(self):
        self.log, self.done, self.capturing = [], 0, False
        cuda = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing
                self.number = 0

            def record(self):
                cuda.log.append("record")
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
    clock.hold(1e6)
    assert cuda.log[-1] == LONGEST_HOLD * 2_000_000


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
