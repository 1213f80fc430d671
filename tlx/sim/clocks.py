"""Vector clocks: who knows of which events.

A *lane* is a sequence of events that happen one after the other: a task, one ordered queue of asynchronous work of a
task, or the phases of one mbarrier. An event is (lane, time). A clock maps lanes to the latest time known; an event is
known, and with it everything before it in its lane, when the clock's entry is not smaller than its time.
"""

from __future__ import annotations

from itertools import count

Clock = dict[int, int]

_lanes = count()


def new_lane() -> int:
    """A lane that nobody else has."""
    return next(_lanes)


def join(into: Clock, other: Clock) -> None:
    """Adds to ``into`` all that ``other`` knows."""
    get = into.get
    for lane, time in other.items():
        if get(lane, 0) < time:
            into[lane] = time
