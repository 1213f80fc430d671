"""Whether slots that threads copy may be announced some trips later, so that several copies are under way.

A thread must wait for what it copied before it can say that it is there. Where it waits at once, every tile costs a
round trip to memory. In a loop each trip can wait for the copies of an earlier one instead, if whatever the producer
waits for meanwhile comes about without the slots that are not announced yet: every ring that the loop fills has a slot
free as long as the consumers have finished the trips before those. So the loop fills each ring once in a trip at most,
and no loop inside it fills any.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import Facts
from ..source import Span
from .sites import Place


def late(facts: Facts, place: Place, rings: Sequence[Sequence[Place]]) -> Span | None:
    """The loop at the end of whose trips earlier slots of a ring that is filled at `place` alone are announced.

    `rings` are the places that fill each ring of the kernel.
    """
    loop = next((loop for loop in facts.loops if place.loops and loop.span == place.loops[-1]), None)
    if loop is None or loop.kind != "range" or place.block != (loop.span, 0):
        return None
    for ring in rings:
        inside = [other for other in ring if loop.span in other.loops]
        if len(inside) > 1 or any(other.loops != place.loops for other in inside):
            return None
    return loop.span
