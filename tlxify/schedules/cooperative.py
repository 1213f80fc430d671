"""Cooperative: one producer fills rings by TMA, consumer warp groups share every tile, each with its own rows.

Facts × target → Plan, or a refusal. Every role is the whole kernel with some statements replaced, so loops, conditions
and helper calls around the dots may be any that all roles can follow alike. With `persistent`, program ids become a
tile loop, so that the producer fetches the next tile while this one is finished. Where a second operand is computed, a
third role does that between the two (transforming.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..diagnostics import Decline, Diagnostic
from ..facts import Facts, every
from ..plan import AUTO, Barrier, Edge, Form, Persistence, Plan, Ring, Task, fills_of
from ..source import Span
from ..targets import Target
from . import order, overlap, requirements, rings, transforming, written
from .alternation import alternation
from .buffers import Placed, copied_tile, in_place_fits, placed
from .feeding import Feed, Feeding, feeding
from .frame import Frame, frame
from .launching import assumed, launch_guard
from .lean import lean
from .naming import Names
from .roots import consumer_roots, effects, fill_roots, producer_roots
from .sites import Place, places, shared
from .slicing import Reads, keep
from .tree import Tree
from .writing import claims

#: Parameters of the converted kernel that the launcher passes by these very names.
_PASSED = "STAGES CONSUMERS CONSUMER_WARPS CONSUMER_REGISTERS".split()


#: Two kernels, three launches each, by benchmarks/shapes.py: weights of int8 1.5 to 1.9 times, packed int4 3.0 to 3.4
#: times. A thread reads and writes single elements of a tile that it computes.
SLOWER = "a role that computes a second operand took 1.5 to 3.4 times as long as the source on an H200"


def plan(
    facts: Facts,
    parameters: tuple[str, ...],
    taken: frozenset[str],
    target: Target,
    *,
    form: Form = AUTO,
    profitable: bool = True,
    by_value: frozenset[str] = frozenset(),
    spelled: bool = True,
    transformed: bool = True,
) -> Plan:
    """The plan for a kernel. Raises Decline with the first requirement that does not hold.

    `parameters` are the kernel's, in order; `taken` are all names that it or its module uses. With `profitable`, a plan
    that cannot be expected to pay is refused as well. Tiles called one of `by_value` are loaded into registers. What
    stays of accesses through descriptors is `spelled` out with pointers, where that can be done. With `transformed`,
    a role computes a second operand that is not read as it was loaded.
    """
    requirements.any_dot(facts)
    requirements.effects(facts)
    tree = Tree.of(facts.statements)
    around, feeds, where = _placed(
        facts,
        tree,
        parameters,
        taken,
        target,
        by_value,
        form,
        profitable=profitable,
        spelled=spelled,
        # Groups that take turns wait for each other at every tile or dot: a ring of blocks beside that is not planned.
        transformed=transformed and not form.turns,
    )
    groups = _groups(facts, tree, feeds, where)
    made = rings.build(around, tree, feeds, groups, where)
    views = _views(around, parameters, made)
    made = rings.with_names(made, views)
    dots = rings.steps(around, feeds, made, views)
    again = partial(plan, facts, parameters, taken, target, profitable=profitable, transformed=transformed)
    computed, transform = feeds.computed, None
    if computed is not None:
        a = next(step.a for step in dots if step.span == computed.dot.span)
        transform = transforming.transform(around, computed, a, made)
        dots = tuple(transforming.from_slots(step, transform) for step in dots)
    # What is carried for a late dot takes registers, and threads that copy leave consumers fewer: paged attention of
    # 128 x 128 spilled 296 bytes with both, and nothing without.
    overlapped = form.overlapped and not any(ring.lagging for ring in made) and transform is None
    late = overlap.delayed(around, tree, feeds, made, dots) if overlapped else ()
    if form.turns and not form.alternating and not overlap.chained(facts, tree, feeds):
        return again(form=replace(form, alternating=True, balanced=False), by_value=by_value, spelled=spelled)
    turns = overlap.turns(around, tree, feeds) if form.turns and not form.alternating else None
    if "tlx" in taken:
        raise Decline("TLX104", None, what="the name `tlx` for something of its own")
    passed = [*_PASSED, *(["TRANSFORM_REGISTERS"] if transform is not None else [])]
    for name in sorted(order.used_names(facts, parameters) & set(passed)):
        raise Decline("TLX104", None, what=f"the name `{name}`, by which the launcher passes an argument of its own")
    introduced = {name: around.names.exactly(name) for name in passed}
    filling = frozenset(fill.statement for _, _, fill in fills_of(made))
    fed = frozenset(fill.load for _, _, fill in fills_of(made))
    try:
        rewritten = written.written_out(around, fed, filling | {step.statement for step in dots})
    except Decline:
        described = [load.descriptor for load in facts.loads] + [store.descriptor for store in facts.stores]
        if spelled and any(described):
            return again(form=form, by_value=by_value, spelled=False)
        raise
    roots = {**written.reads(rewritten, facts), **consumer_roots(facts, made, dots)}
    tasks = _tasks(around, made, roots, introduced, grouped=around.split is not None or form.alternating)
    early = [load for load in facts.loads if load.statement in tasks[0].keeps]
    if computed is not None:
        raw = [fill for ring, _, fill in fills_of(made) if ring.transformed]
        doing = transforming.kept(facts, computed, made, fill_roots(facts, raw))
        transforming.alone(facts, computed, made, tasks[1].keeps)
        early += transforming.ordinary(facts, computed, doing, made)
        warps, registers = str(target.warps_per_group), introduced["TRANSFORM_REGISTERS"]
        tasks = (*tasks, Task("transform", warps, registers, None, doing))
    if form.lean:
        tasks = lean(target, made, tasks)
    order.not_read_back(facts, tasks[0].keeps - filling)
    tiles = frozenset(load.target for load in facts.loads if load.id in feeds.feeds and load.target)
    order.same_way(facts, tasks[0].keeps, filling, tiles)
    if names_read := order.misnamed(facts, tasks[1].keeps, made, dots) - by_value:
        return again(form=form, by_value=by_value | names_read, spelled=spelled)
    if around.persistence and (
        order.rebound(facts, parameters, [task.keeps for task in tasks]) or _finishes_with_a_tile(facts, feeds)
    ):
        return again(form=replace(form, persistent=False), by_value=by_value, spelled=spelled)
    by_tile = None
    if form.alternating:
        by_tile = alternation(around, tree, made, dots, tasks[1].keeps, roots, effects(facts))
    if profitable and computed is not None:
        raise Decline("TLX501", computed.dot.span, why=SLOWER)
    arrivals = introduced["CONSUMERS"] if around.split else "1"
    return Plan(
        kernel=facts.kernel,
        parameters=parameters,
        converted=around.names.fresh(f"_{facts.kernel.strip('_')}_ws"),
        schedule="pingpong" if form.turns else "cooperative",
        target=target.name,
        rings=made,
        dots=dots,
        written_out=tuple(one.access for one in rewritten),
        barriers=(
            *(barrier for ring in made for barrier in _barriers(ring, arrivals)),
            *(transforming.barriers(transform, arrivals) if transform is not None else ()),
        ),
        tasks=tasks,
        edges=(
            *(edge for ring in made for edge in _edges(ring)),
            *(transforming.edges(transform) if transform is not None else ()),
        ),
        split=around.split,
        persistence=around.persistence,
        guard=launch_guard(facts, target, made, dots, early, _claims(facts, feeds)),
        program_ids=_calls(around.persistence, facts.program_ids),
        num_programs=_calls(around.persistence, facts.num_programs),
        reversible=tuple(comparison.span for comparison in facts.comparisons if comparison.integers),
        names=(
            *introduced.items(),
            *((("BEHIND", around.names.fresh("BEHIND")),) if any(r.lagging for r in made) else ()),
        ),
        products=_products(facts),
        crowded=order.joined(facts) or _held_beside(facts, feeds),
        counters=tuple(around.counters.items()),
        settled=facts.settled,
        delayed=late,
        turns=turns,
        alternation=by_tile,
        transform=transform,
        notes=_notes(facts, [feed for feed in feeds.feeds.values() if feed.wrapped]),
    )


def _placed(
    facts: Facts,
    tree: Tree,
    parameters: tuple[str, ...],
    taken: frozenset[str],
    target: Target,
    by_value: frozenset[str],
    form: Form,
    *,
    profitable: bool,
    spelled: bool,
    transformed: bool,
) -> tuple[Frame, Feeding, dict[int, Placed]]:
    """The loads that slots can take over, each with where its tile comes from. Raises Decline."""
    reasons: dict[int, Diagnostic] = {}
    while True:
        feeds = feeding(facts, tree, reasons, by_value, transformed=transformed)
        if profitable:
            requirements.worthwhile(facts, feeds)
        _some_feed(facts, feeds)
        loops = frozenset(span for feed in feeds.feeds.values() for span in feed.load.loops[-1:])
        copies = [feed.load for feed in feeds.feeds.values() if feed.copied is not None]
        whole = frozenset(axis for load in copies for axis in load.axes if axis is not None)
        around = frame(
            facts,
            parameters,
            Names(taken),
            target,
            loops,
            persistent=form.persistent,
            balanced=form.balanced,
            divided=not form.alternating,
            spelled=spelled,
            whole=whole,
        )
        where: dict[int, Placed] = {}
        for number, feed in feeds.feeds.items():
            try:
                one = _tile(around, feed)
                in_place_fits(around, feed, one)
                where[number] = one
            except Decline as refusal:
                reasons[number] = refusal.diagnostic
        if len(where) == len(feeds.feeds):
            return around, feeds, where


def _tile(around: Frame, feed: Feed) -> Placed:
    if feed.copied is not None:
        return copied_tile(around, feed.load, feed.access, feed.copied)
    return placed(around, feed.load, feed.access)


def _some_feed(facts: Facts, feeds: Feeding) -> None:
    """Raises Decline, with what is in the way of the first operand, where no slot would feed any dot."""
    if feeds.feeds:
        return
    for dot in facts.dots:
        for side in (dot.a, dot.b):
            for number in sorted(side.loads):
                if (problem := feeds.refused.get(number)) is not None:
                    raise Decline.of(problem)
    raise Decline("TLX305", facts.dots[0].b.span, name=facts.dots[0].b.text)


def _groups(facts: Facts, tree: Tree, feeds: Feeding, where: dict[int, Placed]) -> list[tuple[bool, list[Place]]]:
    found = places(facts, tree, feeds)
    return list(shared(found, where, looped=any(place.loops for place in found)))


def _views(around: Frame, parameters: tuple[str, ...], made: tuple[Ring, ...]) -> dict[Span, str]:
    """What the consumers call each tile that is read in place: the user's name, unless it also means something else."""
    fills = [fill for _, _, fill in fills_of(made)]
    result: dict[Span, str] = {}
    others: dict[str, str] = {}
    for fill in fills:
        if not fill.in_place:
            continue
        own = {other.statement for other in fills if other.in_place and other.name == fill.name}
        binders = [s.span for s in every(around.facts.statements) if fill.name in s.binds]
        plain = fill.name not in parameters and all(any(one.contains(span) for one in own) for span in binders)
        if plain and fill.name and not fill.values:
            result[fill.load] = fill.name
            continue
        if fill.buffer not in others:
            others[fill.buffer] = around.names.fresh(f"{fill.buffer.removesuffix('_ring')}_tile")
        result[fill.load] = others[fill.buffer]
    return result


def _barriers(ring: Ring, consumers: str) -> tuple[Barrier, ...]:
    # Who asks the TMA arrives when it says how many bytes will come, who copies when what it copied is there.
    arrivals = str(int(ring.copied) + int(bool(ring.described)))
    reader, readers = ("transform", "1") if ring.transformed else ("consumer", consumers)
    full = Barrier(ring.full, arrivals, "producer", reader, "the slot holds its tiles")
    if ring.empty is None:
        return (full,)
    return (full, Barrier(ring.empty, readers, reader, "producer", "the slot may be overwritten"))


def _edges(ring: Ring) -> tuple[Edge, ...]:
    tiles = " + ".join(b.name for b in ring.buffers)
    reader = "transform" if ring.transformed else "consumer"
    full = Edge("producer", reader, ring.full, tiles)
    return (full,) if ring.empty is None else (full, Edge(reader, "producer", ring.empty, tiles))


def _tasks(
    around: Frame,
    made: tuple[Ring, ...],
    roots: dict[Span, Reads],
    introduced: dict[str, str],
    *,
    grouped: bool,
) -> tuple[Task, ...]:
    facts, replicas = around.facts, introduced["CONSUMERS"] if grouped else None
    producer = keep(facts.statements, producer_roots(made))
    consumer = keep(facts.statements, roots, effects(facts))
    warps, registers = introduced["CONSUMER_WARPS"], introduced["CONSUMER_REGISTERS"]
    return (
        Task("producer", str(around.target.producer_warps), None, None, producer),
        Task("consumer", warps, registers, replicas, consumer),
    )


def _calls(
    persistence: Persistence | None, calls: tuple[tuple[Span, int | None, tuple[str, ...]], ...]
) -> tuple[tuple[Span, int], ...]:
    if persistence is None:
        return ()
    return tuple((span, axis) for span, axis, _ in calls if axis is not None)


def _claims(facts: Facts, feeds: Feeding) -> tuple[str, ...]:
    """What the launch must confirm: what arms of the source that mask less rely on, and the values assumed here."""
    # Threads that copy ask the source's own mask of the source's own addresses.
    boxed = [feed for feed in feeds.feeds.values() if feed.copied is None]
    found = [text for feed in boxed for text in claims(facts, feed.access) or ()]
    return tuple(dict.fromkeys([*assumed(facts), *found]))


def _held_beside(facts: Facts, feeds: Feeding) -> bool:
    """Whether the consumer holds a whole tile of memory beside an accumulator: a bias or residual that it loads."""
    parts = {part for load in facts.armed for part in load.parts}
    tiles = [load for load in facts.loads if load.is_tile and load.id not in parts]
    return any(load.id not in feeds.feeds for load in tiles)


def _finishes_with_a_tile(facts: Facts, feeds: Feeding) -> bool:
    """Whether a tile of memory is loaded behind the loops of the dots: a residual, a bias of full size.

    In a tile loop the compiler works the parts of its addresses out once and for all, and keeps them in registers that
    the accumulators leave none of: 128 x 128 in 8 warps spilled 232 bytes of each thread, and nothing without the loop.
    """
    return any(
        load.id not in feeds.feeds and not load.loops and load.is_tile
        for load in facts.loads
        if not any(load.id in other.parts for other in facts.armed)
    )


def _products(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Rows and columns of each dot's result, where both are one constexpr: as often as registers hold such a result.

    Those of one loop lie beside each other, unless they are added up under one name or stand in different arms.
    """
    held: dict[tuple[str, str], dict[tuple[tuple[Span, ...], ...], set[object]]] = {}
    for dot in facts.dots:
        row, column = dot.a.axes[0], dot.b.axes[1]
        if row is None or column is None:
            continue
        rows, columns = facts.axis(row).length.text(), facts.axis(column).length.text()
        if rows.isidentifier() and columns.isidentifier():
            places = held.setdefault((rows, columns), {})
            places.setdefault((dot.loops, dot.arms), set()).add(dot.accumulator or dot.result or dot.span)
    return tuple(sides for sides, places in held.items() for _ in range(max(map(len, places.values()))))


def _notes(facts: Facts, wrapped: list[Feed]) -> tuple[tuple[Span, str], ...]:
    """Says at the store why nothing wraps around any more."""
    if not wrapped:
        return ()
    dimensions = [dimension for feed in wrapped for dimension in feed.access.dimensions]
    extents = dict.fromkeys(d.extent.text() for d in dimensions if d.wrapped and d.extent is not None)
    where = f"Positions past {' and '.join(extents)} are masked"
    text = f"{where}: what the TMA fills with zeros there never reaches memory."
    return tuple((store.statement, text) for store in facts.stores[:1])
