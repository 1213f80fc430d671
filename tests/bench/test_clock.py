"""Interleaving and figures, on a device whose time is a counter."""

from __future__ import annotations

import pytest

from tlxify.bench.clock import interleave, launches_for
from tlxify.bench.figures import interval, quartiles, ratios


class Device:
    """A queue in which each launch takes as long as it says; the host takes one tick per launch."""

    def __init__(self):
        self.now, self.ticks, self.log, self.held = 0.0, 0.0, [], 0.0

    def mark(self):
        return self.now

    def between(self, start, end):
        return end - start

    def hold(self, milliseconds):
        self.held += milliseconds
        return milliseconds

    def host(self):
        return self.ticks

    def settle(self):
        pass

    def mapped(self):
        return 0

    def contender(self, name, milliseconds):
        def launch(number):
            self.log.append((name, number))
            self.now += milliseconds
            self.ticks += 1.0

        return launch


def test_contenders_take_turns_and_each_begins_as_often():
    device = Device()
    contenders = {name: device.contender(name, cost) for name, cost in (("a", 2.0), ("b", 3.0), ("c", 5.0))}
    times = interleave(contenders, device, rounds=3, launches=4, inputs=3, hold=5.0)
    assert times == {"a": [2.0] * 3, "b": [3.0] * 3, "c": [5.0] * 3}
    turns = [name for name, number in device.log[::4]]
    assert turns[:3] == ["a", "b", "c"], "untimed"
    assert turns[3:] == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert [number for _, number in device.log[:8]] == [0, 1, 2, 0, 1, 2, 0, 1], "the inputs used longest ago"
    assert device.held == 9 * 5.0


def test_a_turn_is_as_long_as_asked_and_fits_the_queue():
    device = Device()
    assert launches_for(device.contender("a", 0.5), device, target=10.0, most=200) == (20, 1.0)
    assert launches_for(device.contender("a", 1e-4), device, target=10.0, most=200)[0] == 200
    assert launches_for(device.contender("a", 100.0), device, target=10.0, most=200)[0] == 3


def test_the_median_is_not_moved_by_an_outlier():
    spread = quartiles([1.0, 1.0, 1.1, 1.2, 90.0])
    assert (spread.median, spread.low, spread.high) == (1.1, 1.0, 1.2)
    assert quartiles([4.0]).low == 4.0


def test_a_ratio_is_taken_round_by_round():
    # The machine slows down threefold half way: times spread, ratios do not.
    mine, theirs = [1.0] * 5 + [3.0] * 5, [1.2] * 5 + [3.6] * 5
    found = ratios(theirs, mine)
    assert (found.median, found.low, found.high) == pytest.approx((1.2, 1.2, 1.2))
    wide = interval([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
    assert 1.0 <= wide.low < 1.3 == wide.median < wide.high <= 1.6
    assert interval([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]) == wide, "the same values, the same interval"
