"""The consumers: the loop waits for a full slot, multiplies from it and hands it back; what follows the loop stays.

What: replacements for operand loads and dots, the end of the loop and the lines behind it.
Why: the dot just issued runs while the next slot is awaited; a slot is free when the dot that read it has retired.
Before: `acc = tl.dot(a, b, acc)`.
After: `acc = tlx.async_dot(a, b, acc)` on views of the slot, `acc = tlx.async_dot_wait(1, acc)`, then
`tlx.barrier_arrive(empty[…])` for the slot of the trip before.
When refused: never; the schedule has checked that nothing else reads the operands or touches the accumulator.
"""

from __future__ import annotations

from ..plan import Buffer, DotStep, Plan
from ..source import Span
from .lines import choice, operand


def replacements(plan: Plan, views: dict[str, str]) -> dict[Span, str]:
    """What stands in place of each operand load and dot. `views` gives the name of each buffer's view."""
    result: dict[Span, list[str]] = {}
    for position, buffer in enumerate(sorted(plan.ring.buffers, key=lambda one: one.load)):
        lines = result.setdefault(buffer.statement, [])
        if position == 0:
            lines += _acquire(plan)
        lines.append(f"{views[buffer.name]} = {_view(plan, buffer)}")
    last = plan.ring.dots[-1]
    for dot in plan.ring.dots:
        lines = result.setdefault(dot.statement, [])
        lines.append(_dot(dot, views))
        if dot is last:
            lines += _release(plan)
    return {span: "\n".join(lines) for span, lines in result.items()}


def at_loop_end(plan: Plan) -> dict[Span, str]:
    """The slot counter's step."""
    return {} if plan.ring.counted_by_loop else {plan.ring.loop: f"{plan.name('used')} += 1"}


def after_loop(plan: Plan) -> dict[Span, str]:
    """Retires what is still in flight; hands the last slot back if the ring goes round again."""
    ring = plan.ring
    lines = [f"{dot.accumulator} = tlx.async_dot_wait(0, {dot.accumulator})" for dot in ring.dots]
    if ring.reused:
        lines += [
            f"if {operand(ring.stop)} > {operand(ring.start)}:",
            f"    tlx.barrier_arrive({ring.empty}[({counter(plan)} - 1) % {plan.name('STAGES')}])",
        ]
    return {ring.loop: "\n".join(lines)}


def counter(plan: Plan) -> str:
    """The name that counts used slots."""
    return plan.ring.variable if plan.ring.counted_by_loop else plan.name("used")


def _acquire(plan: Plan) -> list[str]:
    count, slot, stages = counter(plan), plan.name("slot"), plan.name("STAGES")
    return [
        f"{slot} = {count} % {stages}",
        f"tlx.barrier_wait({plan.ring.full}[{slot}], ({count} // {stages}) & 1)",
    ]


def _view(plan: Plan, buffer: Buffer) -> str:
    slot = plan.name("slot")
    place = (
        f"{slot} * {plan.name('CONSUMERS')} + {plan.split.group}" if buffer.split is not None and plan.split else slot
    )
    straight = f"{buffer.name}[{place}]"
    return choice(buffer.view.flag, f"tlx.local_trans({straight})", straight)


def _dot(dot: DotStep, views: dict[str, str]) -> str:
    a, b = views[dot.a], views[dot.b]
    a = f"tlx.local_trans({a})" if dot.a_transposed else a
    b = f"tlx.local_trans({b})" if dot.b_transposed else b
    return f"{dot.accumulator} = tlx.async_dot({a}, {b}, {dot.accumulator})"


def _release(plan: Plan) -> list[str]:
    ring, accumulator = plan.ring, plan.ring.dots[-1].accumulator
    one = "The dot just issued stays in flight; the one before it has retired, so its slot is free."
    more = "The dots just issued stay in flight; those of the trip before have retired, so their slot is free."
    return [
        f"# {one if ring.in_flight == 1 else more}",
        f"{accumulator} = tlx.async_dot_wait({ring.in_flight}, {accumulator})",
        f"if {ring.variable} > {operand(ring.start)}:",
        f"    tlx.barrier_arrive({ring.empty}[({counter(plan)} - 1) % {plan.name('STAGES')}])",
    ]
