"""In which order enabled things happen. A schedule is replayable: the same one makes the same choices again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

T = TypeVar("T")


class Picker(Protocol):
    """Makes the choices of one simulation."""

    def interrupts(self, in_flight: int) -> bool:
        """Whether a task that could go on gives way at this point."""
        ...

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """Chooses among the tasks that can run and the asynchronous operations that can complete; one is not empty."""
        ...


class Late:
    """Asynchronous operations complete only when no task can go on."""

    def interrupts(self, in_flight: int) -> bool:
        """Tasks run until they block."""
        return False

    def pick(self, agents: Sequence[T], operations: Sequence[T], current: T | None) -> T:
        """The first task that can run, else the oldest operation."""
        return agents[0] if agents else operations[0]


class Eager:
    """Asynchronous operations complete as soon as they are issued."""

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


Schedule = Literal["late", "eager"] | Seeded | int


def picker(schedule: Schedule | Any) -> Picker:
    """A fresh picker for ``schedule``.

    Raises:
        ValueError: it is none of "late", "eager", ``Seeded(n)`` and an integer.
    """
    if schedule == "late":
        return Late()
    if schedule == "eager":
        return Eager()
    if isinstance(schedule, Seeded):
        return Random(schedule.seed)
    if isinstance(schedule, int) and not isinstance(schedule, bool):
        return Random(schedule)
    raise ValueError(f'schedule must be "late", "eager", Seeded(n) or an integer seed, not {schedule!r}')
