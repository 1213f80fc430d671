"""Turns: hardware barriers by which consumer groups issue their dots one after the other.

What: lines in front of and behind the dots that a group issues in its turn; who begins, and who takes the last turn.
Why: while one group multiplies, the other computes what stands between its dots, not the same at the same time.
Before: `scores = tl.dot(q, k)`.
After: `tlx.named_barrier_wait(TURN + group, …)`, the dot, and `tlx.named_barrier_arrive` on the next group's barrier.
When refused: never; the schedule has found dots that all groups issue equally often.
"""

from __future__ import annotations

from ..plan import DotStep, Plan


def wait_for_turn(plan: Plan, step: DotStep) -> list[str]:
    """In front of a dot: the group before has issued its own."""
    if plan.turns is None or step.span not in plan.turns.dots:
        return []
    own = f"{plan.turns.barrier} + {_group(plan)}"
    return _shared(plan, ["# The other group issues its dots first.", f"tlx.named_barrier_wait({own}, {_both(plan)})"])


def pass_turn(plan: Plan, step: DotStep) -> list[str]:
    """Behind a dot and what is issued with it: the next group may issue its own."""
    if plan.turns is None or step.span not in plan.turns.dots:
        return []
    following = f"{plan.turns.barrier} + ({_group(plan)} + 1) % {plan.name('CONSUMERS')}"
    return _shared(plan, [f"tlx.named_barrier_arrive({following}, {_both(plan)})"])


def barriers(plan: Plan, tl: str) -> list[str]:
    """The number of the first group's barrier, at the top of the kernel."""
    if plan.turns is None:
        return []
    return [
        "# One hardware barrier per consumer group, behind those that belong to the compiler: its turn to issue dots.",
        "# Each counts the threads of the group that waits for its turn and of the one that passes it on.",
        f"{plan.turns.barrier}: {tl}.constexpr = 2 + {plan.name('CONSUMERS')}",
    ]


def first_turn(plan: Plan) -> list[str]:
    """At the beginning of the consumers: the last group lets the first begin."""
    if plan.turns is None:
        return []
    last = f"{_group(plan)} == {plan.name('CONSUMERS')} - 1"
    return _shared(plan, [f"tlx.named_barrier_arrive({plan.turns.barrier}, {_both(plan)})"], f" and {last}")


def last_turn(plan: Plan) -> list[str]:
    """At their end: all have had as many turns, so the last group has passed one on that nobody has taken."""
    if plan.turns is None:
        return []
    return _shared(plan, [f"tlx.named_barrier_wait({plan.turns.barrier}, {_both(plan)})"], f" and {_group(plan)} == 0")


def _shared(plan: Plan, lines: list[str], more: str = "") -> list[str]:
    """Lines for launches with more than one consumer group."""
    return [f"if {plan.name('CONSUMERS')} > 1{more}:", *(f"    {line}" for line in lines)]


def _group(plan: Plan) -> str:
    assert plan.split is not None
    return plan.split.group


def _both(plan: Plan) -> str:
    """Threads of the group that waits and of the one that arrives."""
    return f"64 * {plan.name('CONSUMER_WARPS')}"
