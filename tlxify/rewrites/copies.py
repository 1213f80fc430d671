"""Tiles that the producer's threads copy themselves, and when they say that a slot is full.

What: the copy of a tile into its slot; the waits for copies, the fence and the arrivals on full barriers.
Why: rows that an index in memory names are in no box of the TMA's; a thread knows by waiting that its copies are there.
Before: `a = tl.load(a_ptrs, mask=valid[:, None] & (offs_k[None, :] < K - k * BLOCK_K), other=0.0)`.
After: `tlx.async_load(a_ptrs, a_ring[slot], mask=…)`, and at the end of the trip `tlx.async_load_commit_group()`, then
for a slot of an earlier trip `tlx.async_load_wait_group(BEHIND)`, `tlx.fence_async_shared()`, `tlx.barrier_arrive(…)`.
When refused: never; the schedule has found that addresses and masks allow copies of 4 bytes and more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..plan import Fill, Plan, Ring
from ..source import Span


def load(plan: Plan, ring: Ring, fill: Fill, written: Callable[[Span], str]) -> str:
    """The copy of a tile into its slot. `written` is the text of an expression of the source."""
    buffer, copy = ring.buffer(fill.buffer), fill.copy
    assert copy is not None
    assert buffer.view.copied is not None
    slot = f"{buffer.name}[{ring.slot}]"
    place = f"tlx.local_trans({slot})" if buffer.view.copied.swapped else slot
    mask = f", mask={written(copy.mask)}" if copy.mask is not None else ""
    return f"tlx.async_load({written(copy.address)}, {place}{mask})"


def announced(ring: Ring) -> list[str]:
    """Behind the last fill of a slot that is announced at once."""
    if not ring.copied or ring.lagging is not None:
        return []
    return [
        "# The slot is full when its copies have landed; the tensor cores read what is fenced.",
        "tlx.async_load_commit_group()",
        "tlx.async_load_wait_group(0)",
        "tlx.fence_async_shared()",
        f"tlx.barrier_arrive({ring.full}[{ring.slot}])",
    ]


def late(plan: Plan) -> dict[Span, list[Ring]]:
    """The loops at the end of whose trips earlier slots are announced, with the rings."""
    found: dict[Span, list[Ring]] = {}
    for ring in plan.rings:
        if ring.lagging is not None:
            found.setdefault(ring.lagging, []).append(ring)
    return found


def landed(plan: Plan, rings: Sequence[Ring]) -> list[str]:
    """At the end of a trip: its copies are a group; those of a trip before have landed."""
    first = rings[0]
    arrivals = [line for ring in rings for line in _announce(plan, ring)]
    behind = plan.name("BEHIND")
    return [
        "# The copies of this trip stay under way; a slot of an earlier trip is full when its copies have landed.",
        "tlx.async_load_commit_group()",
        f"if {first.filled} - {first.landed} > {behind}:",
        *(f"    {line}" for line in (f"tlx.async_load_wait_group({behind})", "tlx.fence_async_shared()", *arrivals)),
    ]


def drained(plan: Plan, rings: Sequence[Ring]) -> list[str]:
    """Behind the loop: the copies of the last trips."""
    first = rings[0]
    arrivals = [line for ring in rings for line in _announce(plan, ring)]
    return [
        "tlx.async_load_wait_group(0)",
        "tlx.fence_async_shared()",
        f"while {first.landed} < {first.filled}:",
        *(f"    {line}" for line in arrivals),
    ]


def _announce(plan: Plan, ring: Ring) -> list[str]:
    stages = plan.name(ring.depth)
    return [f"tlx.barrier_arrive({ring.full}[{ring.landed} % {stages}])", f"{ring.landed} += 1"]
