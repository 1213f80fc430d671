"""The consumers: they wait for full slots, multiply from them and hand them back; everything else stays.

What: replacements for operand loads and dots, and the lines before and behind statements that use slots.
Why: a slot is free when the last that reads it has retired; a dot that nothing waits for stays under way meanwhile.
Before: `acc = tl.dot(a, b, acc)`.
After: `acc = tlx.async_dot(a, b, acc)` on views of the slot, `acc = tlx.async_dot_wait(…, acc)`, then
`tlx.barrier_arrive(empty[…])` for the slot of this trip, or of the trip before where the dot stays under way.
When refused: never; the schedule has checked that nothing else reads the operands in place.
"""

from __future__ import annotations

from ..facts import Sum
from ..plan import Delayed, DotStep, Fill, InFlight, Plan, Ring, Side, Site
from ..source import Span
from .lines import operand
from .producer import counted_at_end, slot_and_turn
from .slots import Edits, acquire, fence, release, tile, use
from .transform import acquired, released
from .turns import pass_turn, tile_turns, wait_for_turn


def edits(plan: Plan) -> Edits:
    """Everything that the consumers do differently from the source, but for the ends of loops."""
    result = Edits()
    late = {one.late: one for one in plan.delayed}
    ahead = {one.ahead: one for one in plan.delayed}
    apart = [_slot_of_late(plan, one) for one in plan.delayed]
    for ring, site, fill in plan.fills():
        if (ring, site, fill) not in apart and not ring.transformed:
            use(plan, ring, site, fill, result)
    for step in plan.dots:
        if step.span in late:
            _hold(plan, late[step.span], step, result)
        else:
            _dot(plan, step, result, ahead.get(step.span))
    _positions(plan, result)
    for ring in plan.rings:
        if ring.transformed:
            continue
        if ring.in_flight is not None:
            _retire_late(plan, ring, ring.in_flight, result)
            continue
        for site in ring.sites:
            if (ring, site, site.fills[0]) not in apart:
                release(ring, site, result)
    for one in plan.delayed:
        result.before[one.retire] = [*_retired(plan, one), *result.before.get(one.retire, [])]
        if one.retire in result.replaced:
            result.replaced[one.retire] = [*result.before.pop(one.retire), *result.replaced[one.retire]]
        result.after[one.loop] = [*_behind(plan, one), *result.after.get(one.loop, [])]
    for first, last, waits, passes in tile_turns(plan, plan.alternation) if plan.alternation else ():
        result.before[first] = [*waits, *result.before.get(first, [])]
        # What is still under way has been issued: the tensor cores take it first.
        result.after[last] = [*passes, *result.after.get(last, [])]
    return result


def first_trip(plan: Plan, one: Delayed) -> Edits:
    """What the trip in front of a loop does differently from the source: its last dot comes with the next trip."""
    result = Edits()
    ring, site, late = _slot_of_late(plan, one)
    for held, where, fill in plan.fills():
        if (held, where, fill) != (ring, site, late):
            use(plan, held, where, fill, result)
    if one.asked:
        lines, _, _ = slot_and_turn(plan, ring, ring.counters[1])
        said = "# Only its type is asked for here; its content is waited for with the dot that reads it."
        result.replaced[late.statement] = [*lines, said, f"{late.name} = {tile(plan, ring, late)}"]
    for step in plan.dots:
        if step.span == one.late:
            _hold(plan, one, step, result)
        else:
            _dot(plan, step, result)
    _positions(plan, result)
    for held in plan.rings:
        for where in held.sites:
            if held.in_flight is None and (held, where) != (ring, site):
                release(held, where, result)
    return result


def _positions(plan: Plan, result: Edits) -> None:
    """Where accesses that are written with ordinary pointers begin."""
    for access in plan.written_out:
        lines = [f"{name} = {text}" for name, text in access.positions]
        result.before.setdefault(access.statement, []).extend(lines)


def _hold(plan: Plan, one: Delayed, step: DotStep, result: Edits) -> None:
    """What is left where the late dot stood: its first operand is kept, and the sum made ready for it."""
    ready = [f"{step.result} = {step.addend}"] if step.sum is not Sum.ADDED else []
    kept = step.a.text if one.narrowed is None else one.narrowed[0]
    result.replaced.setdefault(step.statement, []).extend([*ready, f"{one.held} = {kept}"])


def dropped(plan: Plan) -> frozenset[Span]:
    """Loads in whose place the consumers do nothing: the late dot names its slot itself."""
    return frozenset(_slot_of_late(plan, one)[2].statement for one in plan.delayed)


def _slot_of_late(plan: Plan, one: Delayed) -> tuple[Ring, Site, Fill]:
    """The load whose tile the late dot multiplies by."""
    b = plan.step(one.late).b
    return next(
        found for found in plan.fills() if found[2].buffer == b.buffer and one.loop.contains(found[2].statement)
    )


def _issued_late(plan: Plan, one: Delayed) -> list[str]:
    """The dot of the trip before: waits for its slot, and is issued."""
    ring, _, fill = _slot_of_late(plan, one)
    step = plan.step(one.late)
    rounded = f", out_dtype={step.rounded}" if step.rounded else ""
    held = one.held if one.narrowed is None else f"{one.held}.to({one.narrowed[1]})"
    issue = f"{step.result} = tlx.async_dot({held}, {_side(step.b)}, {step.result}{rounded})"
    return [*acquire(plan, ring), f"{fill.name} = {tile(plan, ring, fill)}", issue]


def _retired(plan: Plan, one: Delayed) -> list[str]:
    """The end of the dot of the trip before: nothing has looked at its sum until here."""
    ring, _, _ = _slot_of_late(plan, one)
    name = plan.step(one.late).result
    lines = [f"{name} = tlx.async_dot_wait(0, {name})", f"tlx.barrier_arrive({ring.empty}[{ring.slot}])"]
    return [*lines, f"{ring.used} += 1"]


def _behind(plan: Plan, one: Delayed) -> list[str]:
    """The last trip's dot, behind the loop, if there was a trip."""
    inner = [*_issued_late(plan, one), *_retired(plan, one)]
    return [
        f"if {operand(one.stop)} > {operand(one.start)}:",
        "    # The dot of the last trip.",
        *(f"    {line}" for line in inner),
    ]


def at_loop_end(plan: Plan) -> dict[Span, str]:
    """The steps of the counters of used slots."""
    return {held.loop: f"{ring.used} += 1" for ring, held in counted_at_end(plan)}


def _dot(plan: Plan, step: DotStep, result: Edits, delayed: Delayed | None = None) -> None:
    """A dot; behind it, where there is a `delayed` one, the late dot of the trip before."""
    a, b, name = _side(step.a), _side(step.b), step.result
    computed = plan.transform if plan.transform is not None and plan.transform.dot == step.span else None
    if computed is not None:
        result.replaced.setdefault(step.statement, []).extend(acquired(plan, computed))
    lines: list[str] = []
    onto = f", {name}"
    match step.sum:
        case Sum.RESCALED:
            lines.append(f"{name} = {step.addend}")
        case Sum.ALONE | Sum.WITHIN:
            onto = f", {step.addend}" if step.addend else ""
    rounded = f", out_dtype={step.rounded}" if step.rounded else ""
    lines += wait_for_turn(plan, step)
    lines.append(f"{name} = tlx.async_dot({a}, {b}{onto}{rounded})")
    if delayed is not None:
        lines += ["# The dot of the trip before runs beside what follows.", *_issued_late(plan, delayed)]
    lines += pass_turn(plan, step)
    if not step.in_flight:
        lines.append(f"{name} = tlx.async_dot_wait({0 if delayed is None else 1}, {name})")
    if computed is not None:
        lines += released(computed)
    if step.sum is Sum.WITHIN:
        waiting = result.replaced.pop(step.statement, [])
        result.before.setdefault(step.statement, []).extend([*waiting, *lines])
        result.expressions[step.span] = name
        return
    result.replaced.setdefault(step.statement, []).extend(lines)


def _side(side: Side) -> str:
    return f"tlx.local_trans({side.text})" if side.transposed and side.buffer is not None else side.text


def _retire_late(plan: Plan, ring: Ring, held: InFlight, result: Edits) -> None:
    """Frees the slot of the trip before; behind the loop, retires what is under way and frees the last slot."""
    dots = [step for step in plan.dots if step.in_flight and _of(step, ring)]
    one = "The dot just issued stays in flight; the one before it has retired, so its slot is free."
    more = "The dots just issued stay in flight; those of the trip before have retired, so their slot is free."
    last, count = dots[-1], ring.counters[1]
    previous = f"({count} - 1) % {plan.name(ring.depth)}"
    result.replaced[last.statement] += [
        f"# {one if len(dots) == 1 else more}",
        # Every sum that the loop carries goes through the wait: the next trip's dot may take no other.
        *(f"{step.result} = tlx.async_dot_wait({len(dots)}, {step.result})" for step in dots),
    ]
    after = [f"{step.result} = tlx.async_dot_wait(0, {step.result})" for step in dots]
    if ring.empty is not None:
        fenced = fence(fill for site in ring.sites for fill in site.fills)
        result.replaced[last.statement] += [
            *fenced,
            f"if {held.variable} > {operand(held.start)}:",
            f"    tlx.barrier_arrive({ring.empty}[{previous}])",
        ]
        if held.again:
            after += [
                f"if {operand(held.stop)} > {operand(held.start)}:",
                f"    tlx.barrier_arrive({ring.empty}[{previous}])",
            ]
    result.after.setdefault(held.loop, []).extend(after)


def _of(step: DotStep, ring: Ring) -> bool:
    return any(step.b.buffer == buffer.name for buffer in ring.buffers)
