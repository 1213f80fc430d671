"""A schedule written down: where a run departed from the late schedule, and so how to repeat it exactly.

The late schedule makes no choices: tasks run until they block, in order, and the oldest operation completes when none
can run. Any other run is told by its departures from it: the scheduling points at which a task gave way, and the
choices for which another than the first candidate was taken. Both are counted from the start of the launch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from .schedules import Picker

T = TypeVar("T")

#: a longer recording is named by its size in a finding; ``Report.recording`` has it
_INLINE = 400


@dataclass(frozen=True, slots=True)
class Recording:
    """Departures from the late schedule; an empty one is the late schedule."""

    #: scheduling points at which the running task gave way, counted from 0, increasing
    interrupts: tuple[int, ...] = ()
    #: (which choice, candidate taken), candidates being the tasks that can run, then the operations that can complete
    picks: tuple[tuple[int, int], ...] = ()
    #: the file it was read from, if any
    file: str = ""

    @property
    def departures(self) -> int:
        """How far it is from the late schedule."""
        return len(self.interrupts) + len(self.picks)

    def to_json(self) -> str:
        """As one line of JSON."""
        return json.dumps({"interrupts": self.interrupts, "picks": self.picks}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, file: str = "") -> Recording:
        """The recording that ``to_json`` wrote.

        Raises:
            ValueError: the text is not a recording.
        """
        try:
            data = json.loads(text)
            interrupts = tuple(int(point) for point in data["interrupts"])
            picks = tuple((int(choice), int(taken)) for choice, taken in data["picks"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file or 'the text'} is not a recorded schedule: {error}") from None
        return cls(interrupts, picks, file)

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
        return Recording(self.interrupts, self.picks, str(file))

    def __str__(self) -> str:
        if self.file:
            return repr(self.file)
        text = repr(self.to_json())
        return text if len(text) <= _INLINE else f"<a recording of {self.departures} departures>"


class Recorder:
    """Passes on the choices of another picker and notes the departures."""

    def __init__(self, picker: Picker) -> None:
        self.picker = picker
        self.points = 0
        self.choices = 0
        self.interrupted: list[int] = []
        self.picked: list[tuple[int, int]] = []

    def interrupts(self, in_flight: int) -> bool:
        """Whatever the other picker says."""
        gives_way = self.picker.interrupts(in_flight)
        if gives_way:
            self.interrupted.append(self.points)
        self.points += 1
        return gives_way

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """Whatever the other picker takes."""
        taken = self.picker.pick(agents, operations, current)
        index = agents.index(taken) if taken in agents else len(agents) + operations.index(taken)
        if index:
            self.picked.append((self.choices, index))
        self.choices += 1
        return taken

    @property
    def recording(self) -> Recording:
        """What was noted so far."""
        return Recording(tuple(self.interrupted), tuple(self.picked))


class Replay:
    """Makes the choices of a recording; past its end, those of the late schedule."""

    def __init__(self, recording: Recording) -> None:
        self.interrupted = frozenset(recording.interrupts)
        self.picked = dict(recording.picks)
        self.points = 0
        self.choices = 0

    def interrupts(self, in_flight: int) -> bool:
        """At the points noted."""
        self.points += 1
        return self.points - 1 in self.interrupted

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """The candidate noted.

        Raises:
            IndexError: there are not that many: the recording is of another launch.
        """
        index = self.picked.get(self.choices, 0)
        self.choices += 1
        candidates = [*agents, *operations]
        if index >= len(candidates):
            what = f"the recorded schedule takes candidate {index} of {len(candidates)}: it is of another launch"
            raise IndexError(what)
        return candidates[index]
