"""Cooperative: one producer fills a ring by TMA, consumer warp groups share every tile, each with its own rows.

Facts × target → Plan, or a refusal. One dot per accumulator stays in flight: the slot of a trip is released when the
next trip's dot has been issued and the older one has retired, which takes at least two stages. With `persistent`,
program ids become a tile loop, so that the producer fetches the next tile while this one is finished.
"""

from __future__ import annotations

from ..diagnostics import Decline
from ..facts import Dot, Facts, Operand
from ..plan import Barrier, Buffer, DotStep, Edge, Persistence, Plan, Ring, Task
from ..source import Span
from ..targets import Target
from . import order, positions, requirements
from .buffers import Feed, buffer
from .frame import Frame, frame
from .launching import launch_guard
from .naming import Names
from .slicing import Reads, keep

#: Names that the emitted code needs besides those of rings, views and barriers.
_INTRODUCED = "slot filled used SLOT_BYTES".split()
#: Parameters of the converted kernel that the launcher passes by these very names.
_PASSED = "STAGES CONSUMERS CONSUMER_WARPS CONSUMER_REGISTERS".split()
#: Statements without a value or effect that go wherever the consumer goes: they check and promise.
_CHECKS = frozenset({"static_assert", "assume", "docstring"})


def plan(
    facts: Facts, parameters: tuple[str, ...], taken: frozenset[str], target: Target, *, persistent: bool = True
) -> Plan:
    """The plan for a kernel with one dot loop. Raises Decline with the first requirement that does not hold.

    `parameters` are the kernel's, in order; `taken` are all names that it or its module uses.
    """
    loop = requirements.dot_loop(facts)
    requirements.effects(facts, loop)
    feeds: dict[int, Feed] = {}
    for dot in facts.dots:
        for side in (dot.a, dot.b):
            load, access = requirements.operand(facts, dot, side)
            positions.begin_inside(facts, access, load)
            feeds.setdefault(load.id, Feed(load, access, side))
    positions.no_block_pointers(facts, feeds)
    # The first load of a trip acquires the slot: source order, not that of the dot's arguments.
    feeds = {number: feeds[number] for number in sorted(feeds)}
    requirements.accumulators(facts, loop)
    order.settled_bounds(facts, loop)
    order.loads_stand_alone(facts, [feed.load for feed in feeds.values()])
    wrapped = [feed for feed in feeds.values() if requirements.rows_are_independent(facts, feed.access, feed.load)]
    names = Names(taken)
    around = frame(facts, parameters, names, target, loop, persistent)
    ring = _ring(around, {number: buffer(around, feed) for number, feed in feeds.items()})
    if "tlx" in taken:
        raise Decline("TLX104", None, what="the name `tlx` for something of its own")
    for name in sorted(order.used_names(facts, parameters) & set(_PASSED)):
        raise Decline("TLX104", None, what=f"the name `{name}`, by which the launcher passes an argument of its own")
    introduced = {purpose: names.fresh(purpose) for purpose in _INTRODUCED}
    introduced.update({name: names.exactly(name) for name in _PASSED})
    tasks = _tasks(around, ring, introduced)
    order.not_read_back(facts, tasks[0].keeps)
    order.same_way(facts, tasks[0].keeps)
    if around.persistence and order.rebound(facts, parameters, [task.keeps for task in tasks]):
        return plan(facts, parameters, taken, target, persistent=False)
    tiles = " + ".join(b.name for b in ring.buffers)
    return Plan(
        kernel=facts.kernel,
        parameters=parameters,
        converted=names.fresh(f"_{facts.kernel.strip('_')}_ws"),
        schedule="cooperative",
        target=target.name,
        ring=ring,
        barriers=_barriers(ring, introduced["CONSUMERS"] if around.split else "1"),
        tasks=tasks,
        edges=(Edge("producer", "consumer", ring.full, tiles), Edge("consumer", "producer", ring.empty, tiles)),
        split=around.split,
        persistence=around.persistence,
        guard=launch_guard(facts, target, ring, tasks[0].keeps),
        program_ids=_calls(around.persistence, facts.program_ids),
        num_programs=_calls(around.persistence, facts.num_programs),
        reversible=tuple(comparison.span for comparison in facts.comparisons if comparison.integers),
        names=tuple(introduced.items()),
        notes=_notes(facts, wrapped),
    )


def _ring(around: Frame, buffers: dict[int, Buffer]) -> Ring:
    loop = around.loop
    start, stop, step = loop.text
    if loop.step is None or (loop.step.constant is not None and loop.step.constant <= 0):
        raise Decline("TLX104", loop.span, what=f"a loop with the step `{step}`")
    nested = len(around.facts.dots[0].loops) > 1
    running = around.persistence is not None or nested
    return Ring(
        loop=loop.span,
        buffers=tuple(buffers.values()),
        dots=tuple(_dot(dot, buffers) for dot in around.facts.dots),
        full=around.names.fresh("full"),
        empty=around.names.fresh("empty"),
        variable=around.variable,
        start=start,
        stop=stop,
        counted_by_loop=not running and start == "0" and step == "1",
        reused=running,
        branched=order.joined(around.facts, loop.span),
    )


def _dot(dot: Dot, buffers: dict[int, Buffer]) -> DotStep:
    assert dot.accumulator is not None
    assert dot.a.load is not None
    assert dot.b.load is not None
    a, b = buffers[dot.a.load].name, buffers[dot.b.load].name
    a_transposed, b_transposed = dot.a.how is Operand.TRANSPOSED, dot.b.how is Operand.TRANSPOSED
    return DotStep(dot.span, dot.statement, dot.accumulator, a, b, a_transposed, b_transposed)


def _barriers(ring: Ring, consumers: str) -> tuple[Barrier, ...]:
    return (
        Barrier(ring.full, "1", "producer", "consumer", "the slot holds its tiles"),
        Barrier(ring.empty, consumers, "consumer", "producer", "the slot may be overwritten"),
    )


def _tasks(around: Frame, ring: Ring, introduced: dict[str, str]) -> tuple[Task, ...]:
    facts, replicas = around.facts, introduced["CONSUMERS"] if around.split else None
    producer = keep(facts.statements, _producer_roots(ring))
    consumer = keep(facts.statements, _consumer_roots(ring), _effects(facts))
    warps, registers = introduced["CONSUMER_WARPS"], introduced["CONSUMER_REGISTERS"]
    return (
        Task("producer", str(around.target.producer_warps), None, None, producer),
        Task("consumer", warps, registers, replicas, consumer),
    )


def _producer_roots(ring: Ring) -> dict[Span, Reads]:
    """The loads, each reading what its coordinates are written with."""
    roots: dict[Span, Reads] = {}
    for one in ring.buffers:
        held = roots.get(one.statement, Reads(frozenset()))
        roots[one.statement] = Reads(held.reads | one.reads)
    return roots


def _consumer_roots(ring: Ring) -> dict[Span, Reads]:
    """The dots. A tile of the ring is read by its dot alone: the statement that loaded it binds nothing here."""
    return {dot.statement: Reads(frozenset({dot.accumulator}), frozenset({dot.accumulator})) for dot in ring.dots}


def _effects(facts: Facts) -> frozenset[Span]:
    stores = {store.statement for store in facts.stores}
    checks = {statement.span for statement in facts.statements if statement.text_kind in _CHECKS}
    return frozenset(stores | checks)


def _calls(
    persistence: Persistence | None, calls: tuple[tuple[Span, int | None, tuple[str, ...]], ...]
) -> tuple[tuple[Span, int], ...]:
    if persistence is None:
        return ()
    return tuple((span, axis) for span, axis, _ in calls if axis is not None)


def _notes(facts: Facts, wrapped: list[Feed]) -> tuple[tuple[Span, str], ...]:
    """Says at the store why nothing wraps around any more."""
    if not wrapped:
        return ()
    dimensions = [dimension for feed in wrapped for dimension in feed.access.dimensions]
    extents = dict.fromkeys(d.extent.text() for d in dimensions if d.wrapped and d.extent is not None)
    where = f"Positions past {' and '.join(extents)} are masked"
    text = f"{where}: what the TMA fills with zeros there never reaches memory."
    return tuple((store.statement, text) for store in facts.stores[:1])
