"""What fools a stopwatch, one contender each: no wrong time gets through.

The device here is a model with what the traps need: a host that runs ahead, streams, an L2, a driver to ask for memory.
"""

from __future__ import annotations

from collections import OrderedDict

import pytest

from tlxify.bench.clock import TRIES, Untimed, interleave, launches_for

COLD, WARM = 1.0, 0.25


class Chip:
    """Streams that end at some time, and a host with a time of its own; launching takes it 10 µs."""

    def __init__(self, cached=5):
        self.clock, self.stream, self.other, self.maps = 0.0, 0.0, 0.0, 0
        self.cached, self.l2 = cached, OrderedDict()

    def mark(self):
        self.stream = max(self.stream, self.clock)
        return self.stream

    def between(self, start, end):
        self.clock = max(self.clock, end)
        return end - start

    def hold(self, milliseconds):
        self.stream = max(self.stream, self.clock) + milliseconds
        return milliseconds

    def host(self):
        return self.clock

    def settle(self):
        self.clock = max(self.clock, self.stream, self.other)

    def mapped(self):
        return self.maps

    def touch(self, what):
        """Milliseconds that a launch takes whose inputs are these."""
        warm = self.l2.pop(what, None)
        self.l2[what] = True
        while len(self.l2) > self.cached:
            self.l2.popitem(last=False)
        return WARM if warm else COLD

    def launch(self, number, host=0.01, elsewhere=0.0):
        """One launch, a share of it on another stream."""
        cost = self.touch(number)
        self.clock += host
        self.stream = max(self.stream, self.clock) + (1 - elsewhere) * cost
        if elsewhere:
            self.other = max(self.other, self.clock) + elsewhere * cost


def test_a_launch_that_returns_before_it_is_done_is_waited_for():
    chip = Chip()
    before = chip.host()
    chip.launch(7)
    assert chip.host() - before == pytest.approx(0.01), "which is what a host that does not wait would tell"
    times = interleave({"a": chip.launch}, chip, rounds=2, launches=3, inputs=8, hold=1.0)
    assert times["a"] == pytest.approx([COLD, COLD])


@pytest.mark.parametrize("hold", [0.0, 100.0])
@pytest.mark.parametrize("share", [1.0, 0.75])
def test_work_on_another_stream_is_refused(share, hold):
    chip = Chip()

    def astray(number):
        chip.launch(number, elsewhere=share)

    with pytest.raises(Untimed, match=r"b keeps the device busy for .* launches on another stream") as caught:
        interleave({"a": chip.launch, "b": astray}, chip, rounds=2, launches=8, inputs=8, hold=hold)
    assert caught.value.contender == "b"


@pytest.mark.parametrize("hold", [0.0, 1.0, 100.0])
def test_work_on_another_stream_that_waits_and_is_waited_for_is_timed(hold):
    chip = Chip()

    def forked(number):
        chip.other = max(chip.other, chip.stream)
        chip.launch(number, elsewhere=1.0)
        chip.stream = max(chip.stream, chip.other)

    times = interleave({"a": forked}, chip, rounds=2, launches=4, inputs=8, hold=hold)
    assert times["a"] == pytest.approx([COLD, COLD], abs=0.01)


@pytest.mark.parametrize("hold", [4.0, 100.0])
def test_work_that_another_stream_did_while_the_device_was_held_back_is_refused(hold):
    chip = Chip()

    def joined(number):
        chip.launch(number, elsewhere=1.0)
        chip.stream = max(chip.stream, chip.other)

    with pytest.raises(
        Untimed, match=r"b takes .* ms where the device is held back before it, and 8[.]01 ms where it is not"
    ):
        interleave({"a": chip.launch, "b": joined}, chip, rounds=2, launches=8, inputs=8, hold=hold)


def test_a_contender_that_leaves_its_stream_later_on_is_refused():
    chip = Chip()
    launched = []

    def leaving(number):
        launched.append(number)
        chip.launch(number, elsewhere=float(len(launched) > 8))

    with pytest.raises(Untimed, match=r"b (takes|keeps the device busy for) "):
        interleave({"a": chip.launch, "b": leaving}, chip, rounds=3, launches=8, inputs=8, hold=100.0)


def test_a_contender_that_leaves_its_work_to_the_next_turn_is_refused():
    chip = Chip()
    launched = []

    def owing(number):
        launched.append(number)
        if len(launched) <= 8:
            chip.launch(number)
        else:
            chip.clock += 0.01

    with pytest.raises(Untimed, match="b takes"):
        interleave({"a": chip.launch, "b": owing}, chip, rounds=3, launches=8, inputs=8, hold=1.0)


def test_a_first_turn_that_is_slow_is_not_held_against_the_others():
    chip = Chip()
    turns = []

    def warming(number):
        turns.append(number)
        if len(turns) <= 8:
            chip.stream = max(chip.stream, chip.clock) + COLD
        chip.launch(number)

    times = interleave({"a": chip.launch, "b": warming}, chip, rounds=3, launches=8, inputs=8, hold=1.0)
    assert times["b"] == pytest.approx([COLD] * 3)


@pytest.mark.parametrize("launches", [3, 4, 5, 8, 20])
def test_nobody_finds_inputs_that_another_left_in_the_cache(launches):
    chip = Chip(cached=5)
    contenders = dict.fromkeys("abc", chip.launch)
    times = interleave(contenders, chip, rounds=6, launches=launches, inputs=8, hold=1.0)
    assert {round(each, 6) for found in times.values() for each in found} == {COLD}


def test_the_model_of_the_cache_can_tell():
    chip = Chip(cached=5)
    times = interleave({"a": chip.launch, "b": chip.launch}, chip, rounds=6, launches=4, inputs=4, hold=1.0)
    assert WARM in {round(each, 6) for found in times.values() for each in found}


def test_asking_the_driver_for_memory_in_every_turn_is_refused():
    chip = Chip()

    def mapping(number):
        chip.maps += 1
        chip.launch(number, host=0.5)

    with pytest.raises(Untimed, match="b asks the driver for memory"):
        interleave({"a": chip.launch, "b": mapping}, chip, rounds=2, launches=4, inputs=8)


def test_what_a_contender_allocates_once_costs_it_nothing():
    chip = Chip()
    taken = []

    def lazy(number):
        if not taken:
            chip.maps += 1
            chip.stream = max(chip.stream, chip.clock) + 50.0
        taken.append(number)
        chip.launch(number)

    times = interleave({"a": lazy}, chip, rounds=3, launches=4, inputs=8, hold=1.0)
    assert times["a"] == pytest.approx([COLD] * 3)
    assert len(taken) == (1 + 1 + 3) * 4, "its first turn was taken again"


def test_a_host_that_is_slow_on_one_side_is_given_a_start():
    chip = Chip()

    def busy(number):
        chip.launch(number, host=1.5)

    times = interleave({"a": chip.launch, "b": busy}, chip, rounds=2, launches=6, inputs=8, hold=0.1)
    assert times["a"] == pytest.approx(times["b"])
    assert times["b"] == pytest.approx([COLD] * 2)


def test_a_host_that_stands_still_once_is_given_a_start():
    chip = Chip()
    launched = []

    def stumbling(number):
        launched.append(number)
        chip.launch(number, host=12.0 if len(launched) % 20 == 10 else 0.01)

    times = interleave({"a": chip.launch, "b": stumbling}, chip, rounds=3, launches=20, inputs=8, hold=0.5)
    assert times["b"] == pytest.approx([COLD] * 3)


def test_a_host_that_no_start_helps_is_refused():
    chip = Chip()
    longest = 0.5
    chip.hold = lambda milliseconds: Chip.hold(chip, min(milliseconds, longest))
    tried = []

    def busy(number):
        tried.append(number)
        chip.launch(number, host=2.5)

    with pytest.raises(Untimed, match=r"b takes the host 2\.5 ms a launch, for which the device waits"):
        interleave({"a": chip.launch, "b": busy}, chip, rounds=2, launches=6, inputs=8, hold=0.1)
    assert len(tried) == 6 * (1 + TRIES)


def test_as_many_launches_as_fill_a_turn_are_not_told_by_the_host():
    chip = Chip()
    count, spent = launches_for(chip.launch, chip, target=10.0, most=200, inputs=8)
    assert count == int(10.0 / COLD)
    assert spent == pytest.approx(0.01)
