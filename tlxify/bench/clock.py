"""Rounds in which contenders take turns, timed by a device's own clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

#: A contender makes one launch on the inputs of this number.
Contender = Callable[[int], object]


class Clock(Protocol):
    """A device that runs what it is given in order, and notes when it passes a mark."""

    def mark(self) -> Any:
        """Notes the moment at which the device gets here; returns at once."""

    def between(self, start: Any, end: Any) -> float:
        """Milliseconds from one mark to the other; waits for the device."""

    def hold(self, milliseconds: float) -> None:
        """Keeps the device busy for about so long, so that the host gets ahead of it."""

    def host(self) -> float:
        """Milliseconds of the host's clock."""


def launches_for(contender: Contender, clock: Clock, *, target: float, most: int, inputs: int = 1) -> tuple[int, float]:
    """How many launches fill about `target` milliseconds, and the milliseconds of host time that one takes.

    At least 3 and at most `most`: the device's queue must hold them.
    """
    contender(0)
    start, before = clock.mark(), clock.host()
    for number in range(3):
        contender(number % inputs)
    spent = (clock.host() - before) / 3
    each = clock.between(start, clock.mark()) / 3
    return max(3, min(most, int(target / max(each, 1e-6)))), spent


def interleave(
    contenders: Mapping[str, Contender], clock: Clock, *, rounds: int, launches: int, inputs: int, hold: float = 0.0
) -> dict[str, list[float]]:
    """Milliseconds per launch of each contender, one entry per round.

    In each round every contender makes so many launches, one after the other over the `inputs` sets of arguments; who
    begins moves on by one from round to round, so that no contender always runs on the chip that another left warm.
    `hold` milliseconds of other work precede each turn: without them a short kernel would be timed by how fast the
    host launches it.
    """
    names = list(contenders)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            launch = contenders[name]
            if hold:
                clock.hold(hold)
            start = clock.mark()
            for turn in range(launches):
                launch(turn % inputs)
            times[name].append(clock.between(start, clock.mark()) / launches)
    return times
