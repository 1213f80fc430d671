"""A recorded schedule repeats a run exactly, is small, and says so when it is of another launch."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tlx

from ..kernels.gemm_ws import gemm_ws
from .bugs.test_missing_empty_wait import kernel as missing_empty_wait
from .launch import SCHEDULES, descriptor, padded

BLOCK = {"BLOCK_M": 32, "BLOCK_N": 16, "BLOCK_K": 16, "GROUP_M": 1, "ACTIVATION": "", "STAGES": 2}


class Order(tlx.sim.Observer):
    """Everything that was chosen, in order."""

    def __init__(self):
        self.chosen_names = []

    def chosen(self, who):
        self.chosen_names.append(str(who) if not hasattr(who, "name") else who.name)


def gemm(schedule, k_tiles=4, **options):
    rng = np.random.default_rng(0)
    k = 16 * k_tiles
    a, b = padded(rng, 64, k), padded(rng, k, 16)
    c = np.zeros((64, 16), np.float16)
    args = (descriptor(a, [16, 16]), descriptor(b, [16, 16]), c, 64, 16, k, 16, 1)
    watch = Order()
    report = tlx.sim.run(gemm_ws, (2,), args, BLOCK, schedule=schedule, observer=watch, **options)
    return report, watch.chosen_names


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_replay_makes_the_same_choices(schedule, tmp_path):
    report, order = gemm(schedule, record=True)
    again, replayed = gemm(report.recording, record=True)
    assert replayed == order
    assert again.recording == report.recording
    assert (again.steps, again.events) == (report.steps, report.events)
    kept = report.recording.write(tmp_path / "kept.json")
    for form in (report.recording.to_json(), str(tmp_path / "kept.json"), tmp_path / "kept.json", kept):
        assert gemm(form)[1] == order


def test_the_late_schedule_is_the_empty_recording():
    report, order = gemm("late", record=True)
    assert report.recording.departures == 0
    assert gemm('{"interrupts":[],"picks":[]}')[1] == order


def test_different_schedules_have_different_recordings():
    recordings = {gemm(schedule, record=True)[0].recording for schedule in SCHEDULES}
    assert len(recordings) == len(SCHEDULES)


def test_without_being_asked_nothing_is_recorded():
    assert gemm(3)[0].recording is None


@pytest.mark.parametrize("schedule", [0, 1])
def test_a_finding_names_the_recording_that_replays_it(schedule, tmp_path):
    x, out = np.ones((5 * 16, 16), np.float16), np.zeros((16, 16), np.float32)

    def launch(schedule):
        args = (descriptor(x, [16, 16]), out, 5, 2, 16, 16)
        return tlx.sim.run(missing_empty_wait, (1,), args, schedule=schedule, record=True)

    report = launch(schedule)
    assert report.findings
    kept = report.recording.write(tmp_path / "found.json")
    again = launch(kept)
    assert [f.what for f in again.findings] == [f.what for f in report.findings]
    assert all(f.schedule == repr(str(tmp_path / "found.json")) for f in again.findings)
    short = tlx.sim.Recording((1,), ((0, 1),))
    assert str(short) == repr(short.to_json())


def test_a_recording_of_another_launch():
    with pytest.raises(tlx.sim.SimulationError, match="of another launch"):
        gemm(tlx.sim.Recording((), ((0, 99),)))


@pytest.mark.parametrize("text", ["{", "{}", '{"interrupts":[],"picks":[1]}', '{"interrupts":["x"],"picks":[]}'])
def test_text_that_is_no_recording(text):
    with pytest.raises(ValueError, match="not a recorded schedule"):
        tlx.sim.Recording.from_json(text)


@pytest.mark.parametrize("schedule", ["soon", None, 1.5, True])
def test_what_is_no_schedule(schedule):
    with pytest.raises(ValueError, match="schedule must be"):
        gemm(schedule)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 999), unique=True), st.dictionaries(st.integers(0, 999), st.integers(1, 9)))
def test_json_round_trip(interrupts, picks):
    recording = tlx.sim.Recording(tuple(sorted(interrupts)), tuple(sorted(picks.items())))
    assert tlx.sim.Recording.from_json(recording.to_json()) == recording
    assert json.loads(recording.to_json()).keys() == {"interrupts", "picks"}


def without_one(recording):
    """Every recording with one departure less."""
    for i in range(len(recording.interrupts)):
        yield tlx.sim.Recording(recording.interrupts[:i] + recording.interrupts[i + 1 :], recording.picks)
    for i in range(len(recording.picks)):
        yield tlx.sim.Recording(recording.interrupts, recording.picks[:i] + recording.picks[i + 1 :])


def test_a_minimal_recording_needs_all_of_its_departures():
    x, out = np.ones((5 * 16, 16), np.float16), np.zeros((16, 16), np.float32)
    args = (descriptor(x, [16, 16]), out, 5, 2, 16, 16)

    def shows(schedule):
        return "phase-lag" in tlx.sim.run(missing_empty_wait, (1,), args, schedule=schedule).codes

    assert not shows("late")
    number = next(seed for seed in range(100) if shows(seed))
    report = tlx.sim.run(missing_empty_wait, (1,), args, schedule=number, record=True)
    short = tlx.sim.minimize(report.recording, shows)
    assert shows(short)
    assert 0 < short.departures < report.recording.departures
    for shorter in without_one(short):
        with contextlib.suppress(tlx.sim.SimulationError):  # a choice that no longer has that many candidates
            assert not shows(shorter)
