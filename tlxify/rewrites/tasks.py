"""The region of tasks: one task for the producer, one for the transform if there is one, one for the consumer groups.

What: `with tlx.async_tasks():` around all roles, each under a comment that says what it does.
Why: warp specialization is this: every group of warps runs the statements of its own role.
Before: one body that all warps run.
After: `with tlx.async_task("default"): …` and `with tlx.async_task(num_warps=…, registers=…, replicate=…): …`; in a
persistent kernel each role walks over the tiles in a loop of its own. The default task is the producer; where that is
one warp, the consumers.
When refused: never; the plan says what the tasks are.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ..plan import Plan
from .comments import comment_lines, with_leading
from .lines import statements
from .rings import listed
from .turns import first_turn, last_turn


def tasks(
    plan: Plan,
    feeding: list[cst.BaseStatement],
    computing: list[cst.BaseStatement],
    finishing: list[cst.BaseStatement],
    tl: str,
) -> cst.BaseStatement:
    """`with tlx.async_tasks():` around all roles; `computing` is what the transform does, nothing without one."""
    counted = [ring for ring in plan.rings if ring.counted]
    producer = plan.task("producer")
    produce = _task(
        f"num_warps={producer.warps}, registers={producer.registers}" if plan.lean else '"default"',
        _filling(plan),
        [f"{name} = 0" for ring in counted for name in (ring.filled, ring.landed) if name],
        feeding,
        plan,
        tl,
    )
    setup = [f"{plan.group}: {tl}.constexpr = tlx.async_task_replica_id()"] if plan.group else []
    used = [ring for ring in counted if not ring.transformed]
    used += [plan.transform.slots] if plan.transform is not None else []
    setup += [*first_turn(plan), *(f"{ring.used} = 0" for ring in used)]
    own = f"num_warps={plan.name('CONSUMER_WARPS')}, registers={plan.name('CONSUMER_REGISTERS')}"
    arguments = '"default"' if plan.lean else own
    if plan.group:
        arguments += f", replicate={plan.name('CONSUMERS')}"
    words = (
        f"# Consumers: each group multiplies its {plan.split.rows} rows of every slot, hands the slot back "
        "and finishes its rows."
        if plan.split
        else "# Consumers: each group takes tiles in its turn; one finishes its own while the other multiplies."
        if plan.alternation
        else "# Consumer: multiplies from each slot, hands it back and finishes the tile."
    )
    consume = _task(arguments, words, setup, finishing, plan, tl, last_turn(plan))
    region = cst.parse_statement("with tlx.async_tasks():\n    pass\n")
    assert isinstance(region, cst.With)
    roles = [produce, *([_transform(plan, computing, tl)] if plan.transform is not None else []), consume]
    if plan.lean:
        roles.reverse()  # the kernel's own warps come first
    apart = [with_leading(role, [cst.EmptyLine(indent=False), *role.leading_lines]) for role in roles[1:]]
    block = cst.IndentedBlock(body=[roles[0], *apart])
    return region.with_changes(body=block, leading_lines=[cst.EmptyLine(indent=False)])


def _transform(plan: Plan, computing: list[cst.BaseStatement], tl: str) -> cst.With:
    """The task that computes a second operand."""
    assert plan.transform is not None
    raw = [ring for ring in plan.rings if ring.transformed]
    tiles = [buffer.name.removesuffix("_ring") for ring in raw for buffer in ring.buffers]
    words = f"# Transform: computes the second operand from {listed(tiles)}, into slots of {plan.transform.name}."
    setup = [f"{ring.used} = 0" for ring in raw if ring.counted] + [f"{plan.transform.slots.filled} = 0"]
    arguments = f"num_warps={plan.task('transform').warps}, registers={plan.name('TRANSFORM_REGISTERS')}"
    return _task(arguments, words, setup, computing, plan, tl)


def _filling(plan: Plan) -> str:
    """What the producer does, in a comment."""
    boxes = [b.name.removesuffix("_ring") for _, b in plan.buffers() if b.view.copied is None]
    copied = [b.name.removesuffix("_ring") for _, b in plan.buffers() if b.view.copied is not None]
    words = "# Producer: waits until the consumers have freed a slot, then"
    if not copied:
        return f"{words} has the TMA fill it with tiles of {listed(boxes)}."
    rest = f", and has the TMA fetch {listed(boxes)}" if boxes else ""
    return f"{words} copies the rows of {listed(copied)} into it{rest}."


def _task(
    arguments: str,
    words: str,
    setup: list[str],
    body: list[cst.BaseStatement],
    plan: Plan,
    tl: str,
    end: Sequence[str] = (),
) -> cst.With:
    if plan.persistence is not None:
        held = plan.persistence
        tiles = " * ".join(held.extents)
        loop = cst.parse_statement(
            f"for {held.tile} in range({tl}.program_id(0), {tiles}, {tl}.num_programs(0)):\n    pass\n"
        )
        assert isinstance(loop, cst.For)
        body = [loop.with_changes(body=cst.IndentedBlock(body=body))]
    task = cst.parse_statement(f"with tlx.async_task({arguments}):\n    pass\n")
    assert isinstance(task, cst.With)
    inner = [*statements("\n".join(setup)), *body, *statements("\n".join(end))]
    return task.with_changes(body=cst.IndentedBlock(body=inner), leading_lines=comment_lines([words]))
