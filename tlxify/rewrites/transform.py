"""The transform: the role that computes a second operand from raw tiles and writes it where the dot reads it.

What: replacements for the loads of raw tiles, and for the dot's statement, of which the operand alone is left.
Why: the tensor cores read a second operand from shared memory; computed in the consumers it would hold up their dots.
Before: `acc += tl.dot(x, w.to(x.dtype))`.
After: `tlx.local_store(operand_ring[operand_slot], w.to(tlx.dtype_of(x_desc)))` between the wait for a free slot and,
behind a fence, the arrival that says it is full.
When refused: never; the schedule has found that nothing else of the loop is needed, and what its shape is.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from ..plan import Plan, Transform
from ..source import Span
from .expressions import written_at
from .function import FunctionText
from .producer import slot_and_turn
from .slots import Edits, release, under_masks, use


def edits(plan: Plan, one: Transform, text: FunctionText, elsewhere: Mapping[Span, str], tl: str) -> Edits:
    """Everything that the transform does differently from the source; `elsewhere`, what every role does."""
    result = Edits()
    for ring, site, fill in plan.fills():
        if ring.transformed:
            use(plan, ring, site, fill, result)
    result.expressions.update({**elsewhere, **_dtypes(one, text)})
    operand = written_at(text, one.operand, result.expressions, under_masks(result, tl))
    # The waits for tiles that are loaded inside the operand.
    waits = result.before.pop(one.statement, [])
    result.replaced[one.statement] = [*waits, *_store(plan, one, operand)]
    for ring in plan.rings:
        for site in ring.sites if ring.transformed else ():
            release(ring, site, result)
    return result


def acquired(plan: Plan, one: Transform) -> list[str]:
    """In front of the dot: its second operand is there."""
    lines, slot, turn = slot_and_turn(plan, one.slots, one.slots.used)
    return [*lines, f"tlx.barrier_wait({one.slots.full}[{slot}], {turn})"]


def released(one: Transform) -> list[str]:
    """Behind the dot that has retired."""
    return [f"tlx.barrier_arrive({one.slots.empty}[{one.slots.slot}])", f"{one.slots.used} += 1"]


def _store(plan: Plan, one: Transform, operand: str) -> list[str]:
    lines, slot, turn = slot_and_turn(plan, one.slots, one.slots.filled)
    place = f"tlx.local_trans({one.slot})" if one.swapped else one.slot
    return [
        *lines,
        f"tlx.barrier_wait({one.slots.empty}[{slot}], ({turn}) ^ 1)",
        f"tlx.local_store({place}, {operand})",
        "# What threads have written, the tensor cores read behind a fence.",
        "tlx.fence_async_shared()",
        f"tlx.barrier_arrive({one.slots.full}[{slot}])",
        f"{one.slots.filled} += 1",
    ]


def _dtypes(one: Transform, text: FunctionText) -> dict[Span, str]:
    """What tells the dtype of the first operand, which this role does not have."""
    asked = dict(one.asked)
    return {
        span: f"tlx.dtype_of({asked[node.value.value]})"
        for node, span in text.spans.items()
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.attr.value == "dtype"
        if node.value.value in asked
    }
