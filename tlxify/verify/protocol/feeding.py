"""Which dots of a trace multiply what some load brought into shared memory: this is what roles are for.

A slot feeds a dot in place, where `async_dot` reads it, or through registers: a task loads it, perhaps converts it, and
either multiplies the result itself or stores it into another buffer that a dot reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from .events import Access, Fill, Issue, Multiply, Trace


@dataclass(frozen=True, slots=True)
class Fed:
    """How many dots were fed by loads."""

    #: `async_dot` reads a slot where it lies.
    in_place: int
    #: All that they multiply of what loads brought has passed through registers.
    through_registers: int


def fed(trace: Trace) -> Fed:
    """The dots of a trace that loads fed."""
    events = trace.events
    loaded = {event.view.buffer.storage for event in events if isinstance(event, Fill)}
    loaded |= {v.buffer.storage for e in events if isinstance(e, Issue) and e.queue == "copy" for v in e.views}
    reached = set(loaded)
    stores = [event for event in events if isinstance(event, Access) and event.sources]
    while more := {event.view.buffer.storage for event in stores if event.sources & reached} - reached:
        reached |= more
    in_place = through = 0
    for event in events:
        if isinstance(event, Multiply):
            through += bool(event.sources & reached)
        elif isinstance(event, Issue) and event.queue == "dot":
            read = {view.buffer.storage for view in event.views}
            in_place += bool(read & loaded)
            through += not read & loaded and bool((read | event.sources) & reached)
    return Fed(in_place, through)
