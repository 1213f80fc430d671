"""Who uses which bytes of shared memory, and whether two uses are ordered in every schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

from .flaw import Flawed
from .values import Buffer, View

#: Vector clock: what is known to have happened. Components are agents (events done) and barriers (phases completed).
Clock = dict[Hashable, int]


def join(clock: Clock, other: Clock) -> None:
    """Adds to `clock` all that `other` knows."""
    for component, time in other.items():
        if clock.get(component, 0) < time:
            clock[component] = time


@dataclass(slots=True)
class Use:
    """One access of shared memory. `end`: the (clock component, time) that proves it over, or None."""

    view: View
    writes: bool
    line: int
    what: str
    end: tuple[Hashable, int] | None
    #: It goes on after its statement, until the task waits for it.
    retired_by_wait: bool = False


@dataclass(slots=True)
class Memory:
    """The uses that later ones must still be ordered against, by allocation."""

    uses: dict[Buffer, list[Use]] = field(default_factory=lambda: defaultdict(list))

    def use(self, clock: Clock, new: Use) -> None:
        """Notes a use that begins when `clock` is known. Raises Flawed for a race and for reading what nobody wrote."""
        earlier = self.uses[new.view.buffer.storage]
        filled = False
        for old in earlier:
            if not old.view.overlaps(new.view):
                continue
            filled |= old.writes
            if not (old.writes or new.writes):
                continue
            if old.end is None or clock.get(old.end[0], 0) < old.end[1]:
                early = old.retired_by_wait and new.writes and not old.writes
                ended = "no wait has retired it" if old.end is None else "it need not be over by then"
                text = f"{new.what} may come while {old.what} still runs: {ended}"
                raise Flawed("release-before-retire" if early else "race", new.line, text, old.line)
        if not filled and not new.writes:
            raise Flawed("read-before-fill", new.line, f"{new.what}: nothing was ever written there")
        if new.writes:
            # Later uses that are ordered behind this one are ordered behind what it covered.
            earlier[:] = [old for old in earlier if not new.view.covers(old.view)]
        earlier.append(new)
