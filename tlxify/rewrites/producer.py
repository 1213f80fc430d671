"""The producer: the loop that feeds the dots, reduced to waiting for a free slot and asking the TMA to fill it.

What: replacements for operand loads, and the step of the slot counter.
Why: one group of warps that only asks for tiles keeps the memory busy while the others multiply.
Before: `a = tl.load(a_ptrs, mask=…, other=0.0)`.
After: `tlx.barrier_wait(empty[slot], …)`, `tlx.barrier_expect_bytes(full[slot], …)` and
`tlx.async_descriptor_load(a_desc, a_ring[slot], [pid_m * BLOCK_M, k * BLOCK_K], full[slot])`.
When refused: never; the schedule has found coordinates that can be written with names in scope.
"""

from __future__ import annotations

from ..plan import Buffer, Plan
from ..source import Span
from .lines import choice


def fills(plan: Plan, tl: str) -> dict[Span, str]:
    """What stands in place of each operand load."""
    result: dict[Span, list[str]] = {}
    for position, buffer in enumerate(sorted(plan.ring.buffers, key=lambda one: one.load)):
        lines = result.setdefault(buffer.statement, [])
        if position == 0:
            lines += _acquire(plan)
        lines.append(_load(plan, buffer, tl))
    return {span: "\n".join(lines) for span, lines in result.items()}


def at_loop_end(plan: Plan) -> dict[Span, str]:
    """The slot counter's step."""
    return {} if plan.ring.counted_by_loop else {plan.ring.loop: f"{plan.name('filled')} += 1"}


def counter(plan: Plan) -> str:
    """The name that counts filled slots."""
    return plan.ring.variable if plan.ring.counted_by_loop else plan.name("filled")


def _acquire(plan: Plan) -> list[str]:
    count, slot, stages = counter(plan), plan.name("slot"), plan.name("STAGES")
    return [
        f"{slot} = {count} % {stages}",
        f"tlx.barrier_wait({plan.ring.empty}[{slot}], (({count} // {stages}) & 1) ^ 1)",
        f"tlx.barrier_expect_bytes({plan.ring.full}[{slot}], {plan.name('SLOT_BYTES')})",
    ]


def _load(plan: Plan, buffer: Buffer, tl: str) -> str:
    view, slot = buffer.view, plan.name("slot")
    *batch, row, column = buffer.coordinates
    straight = f"[{', '.join([*batch, row, column])}]"
    swapped = f"[{', '.join([*batch, column, row])}]"
    place = slot
    if buffer.split is not None and plan.split is not None:
        place = f"{slot} * {plan.name('CONSUMERS')} + {plan.split.group}"
    coordinates = choice(view.flag, swapped, straight)
    load = (
        f"tlx.async_descriptor_load({view.descriptor}, {buffer.name}[{place}], {coordinates}, {plan.ring.full}[{slot}])"
    )
    if buffer.split is None or plan.split is None:
        return load
    return f"for {plan.split.group} in {tl}.static_range({plan.name('CONSUMERS')}):\n    {load}"
