"""The producer: the loop that feeds the dots, reduced to waiting for a free slot and having it filled.

What: replacements for operand loads, and the step of the slot counter.
Why: one group of warps that only asks for tiles keeps the memory busy while the others multiply.
Before: `a = tl.load(a_ptrs, mask=…, other=0.0)`.
After: `tlx.barrier_wait(empty[slot], …)`, `tlx.barrier_expect_bytes(full[slot], …)` and
`tlx.async_descriptor_load(a_desc, a_ring[slot], [pid_m * BLOCK_M, k * BLOCK_K], full[slot])`.
When refused: never; the schedule has found coordinates that can be written with names in scope.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..plan import Buffer, Fill, InFlight, Plan, Ring
from ..source import Span
from . import copies
from .lines import choice


def fills(plan: Plan, tl: str, written: Callable[[Span], str] = str) -> dict[Span, str]:
    """What stands in place of each operand load. `written` is the text of an expression as the producer keeps it."""
    result: dict[Span, list[str]] = {}
    for ring, site, fill in plan.fills():
        lines = result.setdefault(fill.statement, [])
        if fill is site.fills[0]:
            lines += _acquire(plan, ring)
        if fill.copy is not None:
            lines.append(copies.load(plan, ring, fill, written))
        else:
            lines.append(_load(plan, ring, fill, tl))
        if fill is site.fills[-1]:
            lines += copies.announced(ring)
            if ring.counted and ring.in_flight is None:
                lines.append(f"{ring.filled} += 1")
    return {span: "\n".join(lines) for span, lines in result.items()}


def at_loop_end(plan: Plan) -> dict[Span, str]:
    """The steps of the counters of filled slots, and slots of earlier trips whose copies have landed."""
    steps = {held.loop: [f"{ring.filled} += 1"] for ring, held in counted_at_end(plan)}
    for loop, rings in copies.late(plan).items():
        steps.setdefault(loop, []).extend(copies.landed(plan, rings))
    return {loop: "\n".join(lines) for loop, lines in steps.items()}


def after(plan: Plan) -> dict[Span, str]:
    """Behind loops, what remains to be announced."""
    return {loop: "\n".join(copies.drained(plan, rings)) for loop, rings in copies.late(plan).items()}


def counted_at_end(plan: Plan) -> Iterator[tuple[Ring, InFlight]]:
    """Rings whose slots are counted at the end of the loop whose dots stay under way."""
    for ring in plan.rings:
        if ring.counted and ring.in_flight is not None:
            yield ring, ring.in_flight


def _acquire(plan: Plan, ring: Ring) -> list[str]:
    count = ring.counters[0]
    lines, slot, turn = slot_and_turn(plan, ring, count)
    if ring.empty is not None:
        lines.append(f"tlx.barrier_wait({ring.empty}[{slot}], ({turn}) ^ 1)")
    if ring.described:
        lines.append(f"tlx.barrier_expect_bytes({ring.full}[{slot}], {ring.bytes})")
    return lines


def slot_and_turn(plan: Plan, ring: Ring, count: str) -> tuple[list[str], str, str]:
    """The statement that computes a slot, the slot, and the parity of the turn, where `count` slots have passed."""
    if ring.empty is None:
        lines = [] if ring.depth == "1" else [f"{ring.slot} = 0"]
        return lines, ring.slot, "0"
    if ring.depth == "1":
        return [], ring.slot, f"{count} & 1"
    stages = plan.name(ring.depth)
    return [f"{ring.slot} = {count} % {stages}"], ring.slot, f"({count} // {stages}) & 1"


def _load(plan: Plan, ring: Ring, fill: Fill, tl: str) -> str:
    buffer = ring.buffer(fill.buffer)
    view, slot = buffer.view, ring.slot
    # Coordinates call Triton's functions `tl`, whatever the module does.
    *batch, row, column = (re.sub(r"(?<![\w.])tl\.", f"{tl}.", text) for text in fill.coordinates)
    straight = f"[{', '.join([*batch, row, column])}]"
    swapped = f"[{', '.join([*batch, column, row])}]"
    coordinates = choice(view.flag, swapped, straight)
    place = slot_of(plan, ring, buffer)
    load = f"tlx.async_descriptor_load({view.descriptor}, {buffer.name}[{place}], {coordinates}, {ring.full}[{slot}])"
    if buffer.split is None or plan.split is None:
        return load
    return f"for {plan.split.group} in {tl}.static_range({plan.name('CONSUMERS')}):\n    {load}"


def slot_of(plan: Plan, ring: Ring, buffer: Buffer) -> str:
    """The index of a slot in a buffer: one for all consumer groups, or one for each."""
    if buffer.split is None or plan.split is None:
        return ring.slot
    own = f"{ring.slot} * {plan.name('CONSUMERS')} + {plan.split.group}"
    return plan.split.group if ring.depth == "1" else own
