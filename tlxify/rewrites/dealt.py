"""Tiles dealt out to consumer groups: a group does its own and counts the slots of the others'.

What: the body of the loop over tiles under `if turn == group:`, and under `else:` the loops around its slots alone.
Why: groups that take whole tiles in turn share the rings, and must agree on how many slots have passed.
Before: the body of the loop.
After: `if turn == group: …`, `else: …`, `turn = (turn + 1) % CONSUMERS`.
When refused: never; the schedule has found that a tile needs nothing of the one before.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from ..plan import Alternation, Plan
from ..source import Span
from .comments import comment_lines, with_leading
from .lines import statements
from .role import Role


def dealt(
    plan: Plan, one: Alternation, role: Role, expressions: dict[Span, str], body: list[cst.BaseStatement]
) -> list[cst.BaseStatement]:
    """What is done for a tile, dealt out. `role` are the consumers, `expressions` what they write differently."""
    counting = _counting(plan, one, role, expressions)
    other = counting.body() if one.block is None else counting.inside(*one.block)
    said = "# A tile of another group's: its slots are counted."
    other[0] = with_leading(other[0], comment_lines([said]))
    (branch,) = statements(f"if {one.turn} == {one.group}:\n    pass\n")
    assert isinstance(branch, cst.If)
    arms = branch.with_changes(body=cst.IndentedBlock(body=body), orelse=cst.Else(body=cst.IndentedBlock(body=other)))
    return [arms, *statements(f"{one.turn} = ({one.turn} + 1) % {plan.name('CONSUMERS')}")]


def _counting(plan: Plan, one: Alternation, role: Role, expressions: dict[Span, str]) -> Role:
    """What is left of the consumers for a tile that is not theirs: the loops around slots, and their counters."""
    lines: dict[Span, list[str]] = {}
    for ring in plan.rings:
        for site in ring.sites:
            lines.setdefault(site.fills[-1].statement, []).append(f"{ring.used} += 1")
    return replace(
        role,
        keeps=one.counts,
        replaced={span: "\n".join(some) for span, some in lines.items()},
        expressions=expressions,
        accesses={},
        at_loop_end={},
        before={},
        after={},
        notes={},
        adopts=frozenset(),
        silent=frozenset(lines),
        heads={},
        blocks={},
        _pending=[],
    )
