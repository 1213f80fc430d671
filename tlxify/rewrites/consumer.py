"""The consumers: they wait for full slots, multiply from them and hand them back; everything else stays.

What: replacements for operand loads and dots, and the lines before and behind statements that use slots.
Why: a slot is free when the last that reads it has retired; a dot that nothing waits for stays under way meanwhile.
Before: `acc = tl.dot(a, b, acc)`.
After: `acc = tlx.async_dot(a, b, acc)` on views of the slot, `acc = tlx.async_dot_wait(…, acc)`, then
`tlx.barrier_arrive(empty[…])` for the slot of this trip, or of the trip before where the dot stays under way.
When refused: never; the schedule has checked that nothing else reads the operands in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..facts import Sum
from ..plan import Delayed, DotStep, Fill, InFlight, Masked, Plan, Ring, Side, Site
from ..source import Span
from .lines import choice, operand
from .producer import counted_at_end, slot_and_turn, slot_of
from .turns import pass_turn, tile_turns, wait_for_turn


@dataclass(slots=True)
class Edits:
    """Generated text by the statement that it replaces, or stands before or behind, and by expression."""

    replaced: dict[Span, list[str]] = field(default_factory=dict)
    before: dict[Span, list[str]] = field(default_factory=dict)
    after: dict[Span, list[str]] = field(default_factory=dict)
    expressions: dict[Span, str] = field(default_factory=dict)
    #: Loads that are tiles under the load's own mask here.
    masked: dict[Span, Masked] = field(default_factory=dict)


def under_masks(uses: Edits, tl: str) -> dict[Span, Masked]:
    """The loads that are masked tiles here, with the function that masks as the module calls it."""
    return {span: replace(one, function=f"{tl}.{one.function}") for span, one in uses.masked.items()}


def texts(lines: dict[Span, list[str]]) -> dict[Span, str]:
    """The lines of each statement as one text."""
    return {span: "\n".join(some) for span, some in lines.items() if some}


def edits(plan: Plan) -> Edits:
    """Everything that the consumers do differently from the source, but for the ends of loops."""
    result = Edits()
    late = {one.late: one for one in plan.delayed}
    ahead = {one.ahead: one for one in plan.delayed}
    apart = [_slot_of_late(plan, one) for one in plan.delayed]
    for ring, site, fill in plan.fills():
        if (ring, site, fill) not in apart:
            _use(plan, ring, site, fill, result)
    for step in plan.dots:
        if step.span in late:
            _hold(plan, late[step.span], step, result)
        else:
            _dot(plan, step, result, ahead.get(step.span))
    _positions(plan, result)
    for ring in plan.rings:
        if ring.in_flight is not None:
            _retire_late(plan, ring, ring.in_flight, result)
            continue
        for site in ring.sites:
            if (ring, site, site.fills[0]) not in apart:
                _release(ring, site, result)
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
            _use(plan, held, where, fill, result)
    if one.asked:
        lines, _, _ = slot_and_turn(plan, ring, ring.counters[1])
        said = "# Only its type is asked for here; its content is waited for with the dot that reads it."
        result.replaced[late.statement] = [*lines, said, f"{late.name} = {_tile(plan, ring, late)}"]
    for step in plan.dots:
        if step.span == one.late:
            _hold(plan, one, step, result)
        else:
            _dot(plan, step, result)
    _positions(plan, result)
    for held in plan.rings:
        for where in held.sites:
            if held.in_flight is None and (held, where) != (ring, site):
                _release(held, where, result)
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
    return [*_acquire(plan, ring), f"{fill.name} = {_tile(plan, ring, fill)}", issue]


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


def _use(plan: Plan, ring: Ring, site: Site, fill: Fill, result: Edits) -> None:
    """Waits for the slot where it is the first of the site, then names its tile or loads it into registers."""
    waits = _acquire(plan, ring) if fill is site.fills[0] else []
    tile = _tile(plan, ring, fill)
    shaped = f".reshape({', '.join(fill.shape)})" if fill.shape else ""
    value = tile if fill.in_place else f"tlx.local_load({tile}){shaped}"
    if fill.in_place or fill.whole:
        result.replaced.setdefault(fill.statement, []).extend([*waits, f"{fill.name} = {value}"])
    else:
        if fill.masked:
            result.masked[fill.load] = Masked(value, "where", fill.masked == "other")
        else:
            result.expressions[fill.load] = value
        result.before.setdefault(fill.statement, []).extend(waits)


def _acquire(plan: Plan, ring: Ring) -> list[str]:
    lines, slot, turn = slot_and_turn(plan, ring, ring.counters[1])
    return [*lines, f"tlx.barrier_wait({ring.full}[{slot}], {turn})"]


def _tile(plan: Plan, ring: Ring, fill: Fill) -> str:
    buffer = ring.buffer(fill.buffer)
    straight = f"{buffer.name}[{slot_of(plan, ring, buffer)}]"
    if buffer.view.copied is not None and buffer.view.copied.swapped:
        return f"tlx.local_trans({straight})"
    return choice(buffer.view.flag, f"tlx.local_trans({straight})", straight)


def _dot(plan: Plan, step: DotStep, result: Edits, delayed: Delayed | None = None) -> None:
    """A dot; behind it, where there is a `delayed` one, the late dot of the trip before."""
    a, b, name = _side(step.a), _side(step.b), step.result
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
    if step.sum is Sum.WITHIN:
        waiting = result.replaced.pop(step.statement, [])
        result.before.setdefault(step.statement, []).extend([*waiting, *lines])
        result.expressions[step.span] = name
        return
    result.replaced.setdefault(step.statement, []).extend(lines)


def _side(side: Side) -> str:
    return f"tlx.local_trans({side.text})" if side.transposed and side.buffer is not None else side.text


def _release(ring: Ring, site: Site, result: Edits) -> None:
    """Hands the slot back behind the last statement that reads it."""
    if ring.empty is None:
        return
    lines = [*_fence(site.fills), f"tlx.barrier_arrive({ring.empty}[{ring.slot}])", f"{ring.used} += 1"]
    if site.release in result.replaced:
        result.replaced[site.release].extend(lines)
    else:
        result.after.setdefault(site.release, []).extend(lines)


def _fence(fills: Iterable[Fill]) -> list[str]:
    """What stands before a slot is handed back that was read into registers.

    A load may still be under way when a later instruction signals a barrier: nothing orders it before what the TMA
    writes, which goes another way to shared memory. A product's operands are read when it has retired.
    """
    return [] if all(fill.in_place for fill in fills) else ["tlx.fence_async_shared()"]


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
        fence = _fence(fill for site in ring.sites for fill in site.fills)
        result.replaced[last.statement] += [
            *fence,
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
