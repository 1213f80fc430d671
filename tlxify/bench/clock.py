"""Rounds in which contenders take turns, timed by a device's own clock.

A turn whose time would tell of something else than the launches is taken again, and given up if it stays so: work that
goes on elsewhere once the stream is done, memory asked of the driver, a host that cannot keep the device busy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

#: A contender makes one launch on the inputs of this number.
Contender = Callable[[int], object]
#: How often a turn is taken before its contender is given up.
TRIES = 3
#: Milliseconds, and share of a turn, for which a device may go on once its stream is done: the host wakes up meanwhile.
LATE, LATE_SHARE = 0.1, 0.05
#: Times the host's time of a turn for which the device is held back before the next try.
MARGIN = 1.25
#: The share of a turn without hold that one behind it takes at least: what was done by then is not timed.
AHEAD = 0.67
#: What voids a turn.
ELSEWHERE = (
    "keeps the device busy for {:.3g} ms after the {:.3g} ms that its stream took: it launches on another stream, "
    "which is not timed"
)
EARLY = (
    "takes {:.3g} ms where the device is held back before it, and {:.3g} ms where it is not: it works on another "
    "stream meanwhile, which is not timed"
)
MAPPING = "asks the driver for memory, or gives it back, while it is timed: let it allocate before"
SLOW = "takes the host {:.3g} ms a launch, for which the device waits: the time is the host's"


class Untimed(Exception):
    """A contender whose times would mean nothing; the text says why."""

    def __init__(self, contender: str, why: str) -> None:
        super().__init__(f"{contender} {why}" if contender else f"it {why}")
        self.contender = contender


class Clock(Protocol):
    """A device that runs what it is given in order, and notes when it passes a mark."""

    def mark(self) -> Any:
        """Notes the moment at which the device gets here; returns at once."""

    def between(self, start: Any, end: Any) -> float:
        """Milliseconds from one mark to the other; waits until the device has passed both."""

    def hold(self, milliseconds: float) -> float:
        """Keeps the device busy for about so long, so that the host gets ahead of it; says for how long at least."""

    def host(self) -> float:
        """Milliseconds of the host's clock."""

    def settle(self) -> None:
        """Waits until nothing runs on the device any more, whatever queue it was put on."""

    def mapped(self) -> int:
        """How often the driver was asked for memory, or given it back: the device may stand still meanwhile."""


def launches_for(contender: Contender, clock: Clock, *, target: float, most: int, inputs: int = 1) -> tuple[int, float]:
    """How many launches fill about `target` milliseconds, and the milliseconds of host time that one takes.

    At least 3 and at most `most`: the device's queue must hold them.
    """
    contender(0)
    start, before = clock.mark(), clock.host()
    for number in range(1, 4):
        contender(number % inputs)
    spent = (clock.host() - before) / 3
    each = clock.between(start, clock.mark()) / 3
    return max(3, min(most, int(target / max(each, 1e-6)))), spent


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn: milliseconds that the host took to launch it, that it took at most to launch one, and of the device."""

    issued: float
    gap: float
    elapsed: float
    #: What makes it void.
    trouble: str = ""


@dataclass(slots=True)
class _Turns:
    """Takes turns, each beginning with the inputs that were used longest ago."""

    clock: Clock
    launches: int
    inputs: int
    #: Launches so far: the next one is on the inputs of this number, modulo `inputs`.
    number: int = 0
    #: Milliseconds of a turn of each contender with no hold before it, where the host was ahead all the same.
    free: dict[str, float] = field(default_factory=dict)

    def watch(self, name: str, launch: Contender) -> None:
        """A turn for which nothing is held back: on other streams, nothing is done before it begins. Raises Untimed."""
        turn = self._valid(name, lambda: self._once(launch, 0.0))
        if turn.elapsed > 2 * turn.issued:
            self.free[name] = min(turn.elapsed, self.free.get(name, turn.elapsed))

    def take(self, name: str, launch: Contender, hold: float) -> float:
        """Milliseconds per launch. Raises Untimed."""
        needed = [hold]

        def once() -> _Turn:
            turn = self._once(launch, needed[0])
            if turn.trouble and hold:
                needed[0] = max(needed[0], MARGIN * turn.issued)
            if not turn.trouble and hold and turn.elapsed < AHEAD * self.free.get(name, 0.0):
                self.watch(name, launch)
                return replace(turn, trouble=EARLY.format(turn.elapsed, self.free[name]))
            return turn

        return self._valid(name, once).elapsed / self.launches

    def _valid(self, name: str, once: Callable[[], _Turn]) -> _Turn:
        """The first turn that nothing is wrong with."""
        for _ in range(TRIES):
            turn = once()
            if not turn.trouble:
                return turn
        raise Untimed(name, turn.trouble)

    def _once(self, launch: Contender, hold: float) -> _Turn:
        clock, mapped = self.clock, self.clock.mapped()
        held = clock.hold(hold) if hold else 0.0
        start = clock.mark()
        times = [clock.host()]
        for turn in range(self.number, self.number + self.launches):
            launch(turn % self.inputs)
            times.append(clock.host())
        elapsed = clock.between(start, clock.mark())
        done = clock.host()
        clock.settle()
        late = clock.host() - done
        self.number += self.launches
        found = _Turn(times[-1] - times[0], max(after - before for before, after in pairwise(times)), elapsed)
        if late > max(LATE, LATE_SHARE * elapsed):
            return replace(found, trouble=ELSEWHERE.format(late, elapsed))
        if clock.mapped() != mapped:
            return replace(found, trouble=MAPPING)
        return replace(found, trouble=SLOW.format(found.issued / self.launches)) if self._waited(found, held) else found

    def _waited(self, turn: _Turn, held: float) -> bool:
        """Whether the device may have waited for the host, though it was held back for so long."""
        if not held or turn.issued <= held:
            return False
        one = turn.elapsed / self.launches
        # A device that had caught up with the host has no more than the last launch before it.
        return turn.gap > 2 * one or held + turn.elapsed - turn.issued < 2 * one


def interleave(
    contenders: Mapping[str, Contender], clock: Clock, *, rounds: int, launches: int, inputs: int, hold: float = 0.0
) -> dict[str, list[float]]:
    """Milliseconds per launch of each contender, one entry per round.

    In each round every contender makes so many launches, one after the other over the `inputs` sets of arguments, going
    on where the last turn ended; who begins moves on by one from round to round. So no contender always runs on the
    chip, or on the inputs, that another left warm. `hold` milliseconds of other work precede each turn: without them a
    short kernel would be timed by how fast the host launches it.

    Raises:
        Untimed: the times of a contender would mean nothing.
    """
    names = list(contenders)
    times: dict[str, list[float]] = {name: [] for name in names}
    turns = _Turns(clock, launches, inputs)
    for name, launch in contenders.items() if hold else ():
        turns.watch(name, launch)
    for number in range(rounds):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            times[name].append(turns.take(name, contenders[name], hold))
    return times
