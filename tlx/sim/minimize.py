"""Fewer departures from the late schedule that show the same finding: a recording that a person can follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .recording import Recording
from .report import SimulationError

#: one departure: at a scheduling point, or in a choice
Departure = tuple[str, int, int]


def _departures(recording: Recording) -> list[Departure]:
    points = [("point", point, 0) for point in recording.interrupts]
    return points + [("choice", choice, taken) for choice, taken in recording.picks]


def _recording(like: Recording, departures: list[Departure]) -> Recording:
    interrupts = tuple(at for kind, at, _ in departures if kind == "point")
    picks = tuple((at, taken) for kind, at, taken in departures if kind == "choice")
    return replace(like, interrupts=interrupts, picks=picks, file="")


def minimize(recording: Recording, shows: Callable[[Recording], bool], most: int = 400) -> Recording:
    """Leaves out departures, large parts first, as long as ``shows`` holds (delta debugging).

    Leaving one out shifts the meaning of those after it; what counts is only that the shorter one still shows it.

    Args:
        recording: one for which ``shows`` holds.
        shows: runs a recording; whether the finding is there.
        most: runs to spend.
    """
    kept = _departures(recording)
    parts, runs = 2, 0
    while kept and runs < most:
        size = max(1, len(kept) // parts)
        for start in range(0, len(kept), size):
            shorter = kept[:start] + kept[start + size :]
            runs += 1
            try:
                still = shows(_recording(recording, shorter))
            except SimulationError:  # a choice that no longer has that many candidates
                still = False
            if still:
                kept, parts = shorter, max(parts - 1, 2)
                break
            if runs >= most:
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(kept))
    return _recording(recording, kept)
