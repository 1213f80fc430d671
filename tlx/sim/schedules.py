"""In which order enabled things happen. A schedule is replayable: the same one makes the same choices again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from .recording import Recording, Replay

T = TypeVar("T")


class Picker(Protocol):
    """Makes the choices of one simulation."""

    @property
    def fine(self) -> bool:
        """Whether a task gives way at every wait too, even one that it need not wait at."""
        ...

    def interrupts(self, in_flight: int) -> bool:
        """Whether a task that could go on gives way at this point."""
        ...

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """Chooses among the tasks that can run and the asynchronous operations that can complete; one is not empty."""
        ...


class Late:
    """Asynchronous operations complete only when no task can go on."""

    fine = False

    def interrupts(self, in_flight: int) -> bool:
        """Tasks run until they block."""
        return False

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """The first task that can run, else the oldest operation."""
        return agents[0] if agents else operations[0]


class Eager:
    """Asynchronous operations complete as soon as they are issued."""

    fine = False

    def interrupts(self, in_flight: int) -> bool:
        """Tasks give way to whatever is in flight."""
        return in_flight > 0

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """The oldest operation, else the task that was running, else the first that can run."""
        if operations:
            return operations[0]
        return current if current is not None and current in agents else agents[0]


class Random:
    """Every choice is drawn from a seeded generator."""

    fine = False

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def interrupts(self, in_flight: int) -> bool:
        """One time in three."""
        return self.random.random() < 0.33

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """Any of them, equally likely."""
        index = int(self.random.random() * (len(agents) + len(operations)))
        return agents[index] if index < len(agents) else operations[index - len(agents)]


@dataclass(frozen=True, slots=True)
class Seeded:
    """A random schedule, repeatable by its seed."""

    seed: int

    def __str__(self) -> str:
        return str(self.seed)


#: a string that is not a name is a recording: its JSON, or the file that holds it
Schedule = Literal["late", "eager"] | Seeded | int | Recording | Path | str | Picker


def parse(schedule: Any) -> Schedule:
    """What a schedule given by a user stands for: text that is not a name becomes the recording it holds.

    Raises:
        ValueError: it is none of "late", "eager", ``Seeded(n)``, an integer, a ``Recording``, its JSON, a file of it,
            and a ``Picker``.
        OSError: the file cannot be read.
    """
    if isinstance(schedule, str) and schedule.lstrip().startswith("{"):
        return Recording.from_json(schedule)
    if isinstance(schedule, Path) or (isinstance(schedule, str) and schedule.endswith(".json")):
        return Recording.read(schedule)
    if isinstance(schedule, str) and schedule.lstrip("-").isdigit():
        return int(schedule)
    known = schedule in ("late", "eager") or isinstance(schedule, (Seeded, Recording)) or hasattr(schedule, "pick")
    if known or (isinstance(schedule, int) and not isinstance(schedule, bool)):
        return schedule  # type: ignore[no-any-return]
    raise ValueError(
        f'schedule must be "late", "eager", Seeded(n), an integer seed or a recording (its JSON or a file of it), '
        f"not {schedule!r}"
    )


def picker(schedule: Schedule | Any) -> Picker:
    """A fresh picker for ``schedule``.

    Raises:
        ValueError, OSError: as ``parse``.
    """
    known = parse(schedule)
    if known == "late":
        return Late()
    if known == "eager":
        return Eager()
    if isinstance(known, Recording):
        return Replay(known)
    if isinstance(known, (int, Seeded)):
        return Random(known.seed if isinstance(known, Seeded) else known)
    assert not isinstance(known, (str, Path))
    return known


def replay_text(schedule: Schedule) -> str:
    """The schedule as an argument of ``run``, for findings to name."""
    known = parse(schedule)
    if isinstance(known, (int, Seeded, Recording)):
        return str(known)
    return repr(known) if isinstance(known, str) else f"<{type(known).__name__}>"
