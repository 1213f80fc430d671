"""Slots as the roles use them that read what the producer brought: waiting for one, its tiles, handing it back.

What: generated lines by the statements that they replace, or stand before or behind.
Why: the consumers and the role that computes an operand take tiles out of rings in the same way.
Before: `w = tl.load(w_ptrs, mask=…, other=0)`.
After: `tlx.barrier_wait(w_full[w_slot], …)`, `w = tlx.local_load(w_ring[w_slot])`, then
`tlx.barrier_arrive(w_empty[w_slot])`.
When refused: never; the schedule has found who reads each ring, and where a slot is free again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..plan import Fill, Masked, Plan, Ring, Site
from ..source import Span
from .lines import choice
from .producer import slot_and_turn, slot_of


@dataclass(slots=True)
class Edits:
    """Generated text by the statement that it replaces, or stands before or behind, and by expression."""

    replaced: dict[Span, list[str]] = field(default_factory=dict)
    before: dict[Span, list[str]] = field(default_factory=dict)
    after: dict[Span, list[str]] = field(default_factory=dict)
    expressions: dict[Span, str] = field(default_factory=dict)
    #: Loads that are tiles under the load's own mask here.
    masked: dict[Span, Masked] = field(default_factory=dict)


def under_masks(uses: Edits, tl: str) -> dict[Span, Masked]:
    """The loads that are masked tiles here, with the function that masks as the module calls it."""
    return {span: replace(one, function=f"{tl}.{one.function}") for span, one in uses.masked.items()}


def texts(lines: dict[Span, list[str]]) -> dict[Span, str]:
    """The lines of each statement as one text."""
    return {span: "\n".join(some) for span, some in lines.items() if some}


def use(plan: Plan, ring: Ring, site: Site, fill: Fill, result: Edits) -> None:
    """Waits for the slot where it is the first of the site, then names its tile or loads it into registers."""
    waits = acquire(plan, ring) if fill is site.fills[0] else []
    place = tile(plan, ring, fill)
    shaped = f".reshape({', '.join(fill.shape)})" if fill.shape else ""
    value = place if fill.in_place else f"tlx.local_load({place}){shaped}"
    if fill.in_place or fill.whole:
        values = [f"{fill.values} = tlx.local_load({fill.name})"] if fill.values else []
        result.replaced.setdefault(fill.statement, []).extend([*waits, f"{fill.name} = {value}", *values])
    else:
        if fill.masked:
            result.masked[fill.load] = Masked(value, "where", fill.masked == "other")
        else:
            result.expressions[fill.load] = value
        result.before.setdefault(fill.statement, []).extend(waits)


def acquire(plan: Plan, ring: Ring) -> list[str]:
    """Waits for a full slot."""
    lines, slot, turn = slot_and_turn(plan, ring, ring.counters[1])
    return [*lines, f"tlx.barrier_wait({ring.full}[{slot}], {turn})"]


def tile(plan: Plan, ring: Ring, fill: Fill) -> str:
    """The tile in the slot, as the source has it."""
    buffer = ring.buffer(fill.buffer)
    straight = f"{buffer.name}[{slot_of(plan, ring, buffer)}]"
    if buffer.view.copied is not None and buffer.view.copied.swapped:
        return f"tlx.local_trans({straight})"
    return choice(buffer.view.flag, f"tlx.local_trans({straight})", straight)


def release(ring: Ring, site: Site, result: Edits) -> None:
    """Hands the slot back behind the last statement that reads it."""
    if ring.empty is None:
        return
    lines = [*fence(site.fills), f"tlx.barrier_arrive({ring.empty}[{ring.slot}])", f"{ring.used} += 1"]
    if site.release in result.replaced:
        result.replaced[site.release].extend(lines)
    else:
        result.after.setdefault(site.release, []).extend(lines)


def fence(fills: Iterable[Fill]) -> list[str]:
    """What stands before a slot is handed back that was read into registers.

    A load may still be under way when a later instruction signals a barrier: nothing orders it before what the TMA
    writes, which goes another way to shared memory. A product's operands are read when it has retired.
    """
    return [] if all(fill.in_place and not fill.values for fill in fills) else ["tlx.fence_async_shared()"]
