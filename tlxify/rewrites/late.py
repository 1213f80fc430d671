"""The first trip of a loop whose last dot is issued a trip late, in front of that loop.

What: a loop of one trip, or of none, with the statements of the loop behind it but for the late dot.
Why: every other trip issues two dots at once, the second for the trip before; the first trip has none before it.
Before: `for start_n in range(0, N, BLOCK_N):`.
After: `for start_n in range(0, min(N, 0 + BLOCK_N), BLOCK_N):` with the first trip, then
`for start_n in range(0 + BLOCK_N, N, BLOCK_N):` with all others.
When refused: never; the schedule has found that the sum is touched between the two dots alone.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from ..plan import Delayed, Plan
from ..source import Span
from . import consumer, slots
from .lines import operand
from .role import Role


def heads(plan: Plan) -> dict[Span, str]:
    """What each such loop runs over: all trips but the first."""
    return {one.loop: f"range({_second(one)}, {one.stop}, {one.step})" for one in plan.delayed}


def first_trips(plan: Plan, role: Role, expressions: dict[Span, str], tl: str) -> dict[Span, str]:
    """The text in front of each such loop. `role` are the consumers, `expressions` what they write differently."""
    return {one.loop: "\n".join(_first(plan, one, role, expressions, tl)) for one in plan.delayed}


def _first(plan: Plan, one: Delayed, role: Role, expressions: dict[Span, str], tl: str) -> list[str]:
    uses = consumer.first_trip(plan, one)
    own = replace(
        role,
        keeps=role.keeps,
        replaced=slots.texts(uses.replaced),
        expressions={**expressions, **uses.expressions},
        accesses={**role.accesses, **slots.under_masks(uses, tl)},
        before=slots.texts(uses.before),
        after=slots.texts(uses.after),
        _pending=[],
    )
    body = "".join(cst.Module([]).code_for_node(node) for node in own.inside(one.loop))
    view = next(b.view for _, b in plan.buffers() if b.name == plan.step(one.late).b.buffer)
    dtype = f"tlx.dtype_of({view.descriptor})" if one.narrowed is None else f"{tl}.float32"
    return [
        "# The first trip; every other issues its first dot before the last one of the trip before it.",
        f"{one.held} = {tl}.zeros(({', '.join(one.shape)}), {dtype})",
        f"for {one.variable} in range({one.start}, min({one.stop}, {_second(one)}), {one.step}):",
        *(f"    {line}" if line else "" for line in body.splitlines()),
    ]


def _second(one: Delayed) -> str:
    """What the variable is in the second trip."""
    return one.step if one.start == "0" else f"{operand(one.start)} + {operand(one.step)}"
