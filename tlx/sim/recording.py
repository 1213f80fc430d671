"""A schedule written down: where a run departed from the late schedule, and so how to repeat it exactly.

The late schedule makes no choices: tasks run until they block, in order, and the oldest operation completes when none
can run. Any other run is told by its departures from it: the scheduling points at which a task gave way, and the
choices for which another than the first candidate was taken. Both are counted from the start of the launch.

A *fine* recording stops at every scheduling point and before every wait, and prefers the task that was running; its
departures are the switches from one runner to another that nothing forced.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .schedules import Picker

T = TypeVar("T")

#: a longer recording is named by its size in a finding; ``Report.recording`` has it
_INLINE = 400


@dataclass(frozen=True, slots=True)
class Recording:
    """Departures from the late schedule; an empty one is the late schedule, fine or not."""

    #: scheduling points at which the running task gave way, counted from 0, increasing
    interrupts: tuple[int, ...] = ()
    #: (which choice, candidate taken), candidates being the tasks that can run, then the operations that can complete
    picks: tuple[tuple[int, int], ...] = ()
    #: whether every scheduling point and every wait is a choice; ``interrupts`` is empty then
    fine: bool = False
    #: the file it was read from, if any
    file: str = ""

    @property
    def departures(self) -> int:
        """How far it is from the late schedule."""
        return len(self.interrupts) + len(self.picks)

    def to_json(self) -> str:
        """As one line of JSON."""
        interrupts: Any = "all" if self.fine else self.interrupts
        return json.dumps({"interrupts": interrupts, "picks": self.picks}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, file: str = "") -> Recording:
        """The recording that ``to_json`` wrote.

        Raises:
            ValueError: the text is not a recording.
        """
        try:
            data = json.loads(text)
            fine = data["interrupts"] == "all"
            interrupts = () if fine else tuple(int(point) for point in data["interrupts"])
            picks = tuple((int(choice), int(taken)) for choice, taken in data["picks"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file or 'the text'} is not a recorded schedule: {error}") from None
        return cls(interrupts, picks, fine, file)

    @classmethod
    def read(cls, file: str | Path) -> Recording:
        """The recording in a file.

        Raises:
            OSError: the file cannot be read.
            ValueError: it holds no recording.
        """
        return cls.from_json(Path(file).read_text(encoding="utf-8"), str(file))

    def write(self, file: str | Path) -> Recording:
        """Writes it to a file and returns it as read from there."""
        Path(file).write_text(self.to_json() + "\n", encoding="utf-8")
        return replace(self, file=str(file))

    def __str__(self) -> str:
        if self.file:
            return repr(self.file)
        text = repr(self.to_json())
        return text if len(text) <= _INLINE else f"<a recording of {self.departures} departures>"


def candidates(agents: Sequence[T], operations: Sequence[T], current: T | None, fine: bool) -> list[T]:
    """What can go on, in the order in which a recording counts: the first is what the late schedule takes."""
    if fine and current is not None and current in agents:
        return [current, *(agent for agent in agents if agent is not current), *operations]
    return [*agents, *operations]


class Recorder:
    """Passes on the choices of another picker and notes the departures."""

    def __init__(self, picker: Picker) -> None:
        self.picker = picker
        self.fine = picker.fine
        self.points = 0
        self.choices = 0
        self.interrupted: list[int] = []
        self.picked: list[tuple[int, int]] = []

    def interrupts(self, in_flight: int) -> bool:
        """Whatever the other picker says."""
        gives_way = self.picker.interrupts(in_flight)
        if gives_way and not self.fine:
            self.interrupted.append(self.points)
        self.points += 1
        return gives_way

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """Whatever the other picker takes."""
        taken = self.picker.pick(agents, operations, current)
        index = candidates(agents, operations, current, self.fine).index(taken)
        if index:
            self.picked.append((self.choices, index))
        self.choices += 1
        return taken

    @property
    def recording(self) -> Recording:
        """What was noted so far."""
        return Recording(tuple(self.interrupted), tuple(self.picked), self.fine)


class Replay:
    """Makes the choices of a recording; past its end, those of the late schedule."""

    def __init__(self, recording: Recording) -> None:
        self.fine = recording.fine
        self.interrupted = frozenset(recording.interrupts)
        self.picked = dict(recording.picks)
        self.points = 0
        self.choices = 0

    def interrupts(self, in_flight: int) -> bool:
        """At the points noted."""
        self.points += 1
        return self.fine or self.points - 1 in self.interrupted

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """The candidate noted.

        Raises:
            IndexError: there are not that many: the recording is of another launch.
        """
        index = self.picked.get(self.choices, 0)
        self.choices += 1
        able = candidates(agents, operations, current, self.fine)
        if index >= len(able):
            what = f"the recorded schedule takes candidate {index} of {len(able)}: it is of another launch"
            raise IndexError(what)
        return able[index]
