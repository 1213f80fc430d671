"""Turns: hardware barriers by which consumer groups issue their dots, or multiply their tiles, one after the other.

What: lines in front of and behind what a group does in its turn; who begins, and who takes the last turn.
Why: while one group multiplies, the other computes what stands between its dots, not the same at the same time.
Before: `scores = tl.dot(q, k)`.
After: `tlx.named_barrier_wait(TURN + group, …)`, the dot, and `tlx.named_barrier_arrive` on the next group's barrier.
When refused: never; the schedule has found dots that all groups issue equally often, or tiles that follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..plan import Alternation, DotStep, Plan
from ..source import Span


def wait_for_turn(plan: Plan, step: DotStep) -> list[str]:
    """In front of a dot: the group before has issued its own."""
    if plan.turns is None or step.span not in plan.turns.dots:
        return []
    return _shared(plan, ["# The other group issues its dots first.", _wait(plan, plan.turns.barrier)])


def pass_turn(plan: Plan, step: DotStep) -> list[str]:
    """Behind a dot and what is issued with it: the next group may issue its own."""
    if plan.turns is None or step.span not in plan.turns.dots:
        return []
    return _shared(plan, [_pass(plan, plan.turns.barrier)])


def tile_turns(plan: Plan, one: Alternation) -> Iterator[tuple[Span, Span, list[str], list[str]]]:
    """Statements from which to which a group works on its tile in its turn, with the lines in front and behind."""
    multiply, *store = _firsts(plan)
    said = "# The other group has waited for all slots of the tile before."
    yield one.first, one.last, _shared(plan, [said, _wait(plan, multiply)]), _shared(plan, [_pass(plan, multiply)])
    if one.stores is not None:
        (barrier,) = store
        said = "# Tiles are stored in their order, too."
        yield *one.stores, _shared(plan, [said, _wait(plan, barrier)]), _shared(plan, [_pass(plan, barrier)])


def barriers(plan: Plan, tl: str) -> list[str]:
    """The number of the first group's barrier, at the top of the kernel."""
    held = plan.turns or plan.alternation
    if held is None:
        return []
    what = "issue dots" if plan.turns else "multiply"
    if plan.alternation is not None and plan.alternation.stores is not None:
        what += ", then one for its turn to store"
    return [
        "# Hardware barriers behind those that belong to the compiler: one per consumer group for its turn to",
        f"# {what}. Each counts the threads of the group that waits and of the one that passes the turn on.",
        f"{held.barrier}: {tl}.constexpr = 2 + {plan.name('CONSUMERS')}",
    ]


def first_turn(plan: Plan) -> list[str]:
    """At the beginning of the consumers: the last group lets the first begin."""
    lines = [f"tlx.named_barrier_arrive({barrier}, {_both(plan)})" for barrier in _firsts(plan)]
    last = f"{plan.group} == {plan.name('CONSUMERS')} - 1"
    result = _shared(plan, lines, f" and {last}") if lines else []
    return [*result, f"{plan.alternation.turn} = 0"] if plan.alternation is not None else result


def last_turn(plan: Plan) -> list[str]:
    """At their end: one turn has been passed on that nobody has taken.

    Where all groups have had as many turns, it is the first one's; else it is that of the group whose tile would come
    next.
    """
    lines = [_wait(plan, barrier) for barrier in _firsts(plan)]
    if plan.alternation is not None:
        said = "# The turn that the last tile has passed on is taken: no barrier is left half full."
        next_one = f"if {plan.alternation.turn} == {plan.group}:"
        return _shared(plan, [said, next_one, *(f"    {line}" for line in lines)])
    return _shared(plan, lines, f" and {plan.group} == 0") if lines else []


def _firsts(plan: Plan) -> list[str]:
    """The first group's barriers."""
    if plan.turns is not None:
        return [plan.turns.barrier]
    if plan.alternation is None:
        return []
    first = plan.alternation.barrier
    return [first, *([f"{first} + {plan.name('CONSUMERS')}"] if plan.alternation.stores is not None else [])]


def _wait(plan: Plan, first: str) -> str:
    return f"tlx.named_barrier_wait({first} + {plan.group}, {_both(plan)})"


def _pass(plan: Plan, first: str) -> str:
    following = f"({plan.group} + 1) % {plan.name('CONSUMERS')}"
    return f"tlx.named_barrier_arrive({first} + {following}, {_both(plan)})"


def _shared(plan: Plan, lines: list[str], more: str = "") -> list[str]:
    """Lines for launches with more than one consumer group."""
    return [f"if {plan.name('CONSUMERS')} > 1{more}:", *(f"    {line}" for line in lines)]


def _both(plan: Plan) -> str:
    """Threads of the group that waits and of the one that arrives."""
    return f"64 * {plan.name('CONSUMER_WARPS')}"
