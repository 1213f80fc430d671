"""Second operands that a loop computes from tiles: a role of their own computes them and writes them into a ring.

The tensor cores read a second operand from shared memory. What the TMA brought is there, what a role has computed must
be written there first: one more group of warps reads the raw tiles into registers, does what the source does with
them, and stores the result into slots that the dots read in place. It runs ahead of the dots, as the producer does.

Nothing that the role reads may depend on a dot or on what the kernel stores, for it is done before both. What only the
operand needs leaves the consumers; what both need is in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..diagnostics import Decline, Diagnostic
from ..facts import Dot, Facts, Load, Operand, StatementFact, every
from ..plan import Barrier, DotStep, Edge, Ring, Side, Transform, fills_of
from ..source import Span
from . import requirements
from .frame import Frame
from .slicing import Reads, keep, live_before
from .tree import Tree


@dataclass(frozen=True, slots=True)
class Computed:
    """A dot whose second operand a role of its own can compute."""

    dot: Dot
    #: The tiles that it is computed from, by number: the role reads them out of slots.
    raw: frozenset[int]


def computed(facts: Facts, tree: Tree) -> Computed | Diagnostic | None:
    """The one operand that is computed in a loop from tiles, or why no role can do that; None where there is none."""
    dots = [dot for dot in facts.dots if dot.loops and dot.b.how is Operand.COMPUTED and _tiles(facts, dot)]
    if not dots:
        return None
    dot = dots[0]
    why = (
        _in_the_way(facts, tree, dot)
        if len(dots) == 1
        else f"`{dots[1].b.text}` is computed too, and one role computes one"
    )
    if why:
        return Diagnostic.of("TLX305", dot.b.span, name=dot.b.text, why=why)
    return Computed(dot, frozenset(load.id for load in _tiles(facts, dot)))


def _tiles(facts: Facts, dot: Dot) -> list[Load]:
    parts = {part for load in facts.armed for part in load.parts}
    return [load for n in sorted(dot.b.loads - parts) if (load := facts.loads[n]).is_tile]


def _in_the_way(facts: Facts, tree: Tree, dot: Dot) -> str:
    """What keeps a role from computing the operand, as far as its statements show; empty if nothing does."""
    block = tree.block(dot.statement)
    if dot.b.after_dot:
        return "it depends on the result of a dot"
    if dot.a.load is None:
        return "the first operand is computed as well"
    if any(number is None for number in dot.b.axes) or len(dot.b.axes) != 2:
        return "it is no tile of two axes"
    for load in _tiles(facts, dot):
        if load.loops != dot.loops or tree.block(load.statement) != block:
            return f"`{load.target or load.pointer}` is loaded elsewhere than beside the dot"
        if load.statement == dot.statement and not dot.b.span.contains(load.span):
            return f"`{load.target or load.pointer}` is loaded in the statement of the dot"
    return ""


def transform(frame: Frame, one: Computed, a: Side, rings: Sequence[Ring]) -> Transform:
    """What the role does, with names for all that is new. `a` is the dot's first operand.

    Raises Decline TLX305, TLX401, TLX403.
    """
    facts, dot = frame.facts, one.dot
    read = tuple(ring for ring in rings if ring.transformed)
    served = {fill.load for _, _, fill in fills_of(read)}
    if any(len(ring.sites) != 1 for ring in read) or any(facts.loads[n].span not in served for n in one.raw):
        raise refusal(dot, "a tile that it is computed from shares its slots with another one")
    divided = frame.split_axis.id if frame.split_axis is not None else None
    if divided in dot.b.axes or any(buffer.split is not None for ring in read for buffer in ring.buffers):
        raise refusal(dot, "its tiles have the rows that consumer groups divide")
    lengths = []
    for number in dot.b.axes:
        length = facts.axis(number).length if number is not None else None
        if length is None or not length.constexpr:
            raise Decline("TLX403", dot.b.span, name="?" if length is None else length.text())
        lengths.append(length.text())
    requirements.tile_fits(frame.target, "", lengths[0], dot.b.span)
    # Stored as the tiles lie that it is computed from, threads write whole words of it.
    swapped = all(facts.loads[n].axes == dot.b.axes[::-1] for n in one.raw)
    buffer = next(buffer for ring in rings for buffer in ring.buffers if buffer.name == a.buffer)
    fresh = frame.names.fresh
    stem = dot.b.text if dot.b.text.isidentifier() else "operand"
    taken = {other.name for ring in rings for other in ring.buffers}
    stem = "operand" if f"{stem}_ring" in taken else stem
    slots = Ring(
        buffers=(),
        sites=(),
        depth="STAGES",
        full=fresh(f"{stem}_full"),
        empty=fresh(f"{stem}_empty"),
        slot=fresh(f"{stem}_slot"),
        filled=fresh(f"{stem}_filled"),
        used=fresh(f"{stem}_used"),
        bytes="",
    )
    return Transform(
        dot=dot.span,
        statement=dot.statement,
        operand=dot.b.span,
        name=fresh(f"{stem}_ring"),
        slots=slots,
        tile=(lengths[1], lengths[0]) if swapped else (lengths[0], lengths[1]),
        swapped=swapped,
        like=buffer.view,
        asked=tuple((name, buffer.view.descriptor) for name in sorted(_asked(facts, one))),
    )


def from_slots(step: DotStep, transform: Transform) -> DotStep:
    """The dot with the ring's slot as its second operand, if it is the one."""
    if step.span != transform.dot:
        return step
    return replace(step, b=Side(transform.name, transform.slot, transform.swapped))


def barriers(transform: Transform, consumers: str) -> tuple[Barrier, ...]:
    """Those of the ring, with so many groups of consumers."""
    slots = transform.slots
    assert slots.empty is not None
    return (
        Barrier(slots.full, "1", "transform", "consumer", "the slot holds its block"),
        Barrier(slots.empty, consumers, "consumer", "transform", "the slot may be overwritten"),
    )


def edges(transform: Transform) -> tuple[Edge, ...]:
    """What the ring hands over."""
    slots = transform.slots
    assert slots.empty is not None
    return (
        Edge("transform", "consumer", slots.full, transform.name),
        Edge("consumer", "transform", slots.empty, transform.name),
    )


def refusal(dot: Dot, why: str) -> Decline:
    """That no role can compute the operand."""
    return Decline("TLX305", dot.b.span, name=dot.b.text, why=why)


def _asked(facts: Facts, one: Computed) -> frozenset[str]:
    """The name of the first operand, where it is asked for its dtype alone and means nothing else anywhere."""
    load = facts.loads[one.dot.a.load] if one.dot.a.load is not None else None
    if load is None or load.target is None:
        return frozenset()
    binders = [statement.span for statement in every(facts.statements) if load.target in statement.binds]
    return frozenset({load.target}) if all(map(load.statement.contains, binders)) else frozenset()


def kept(facts: Facts, one: Computed, rings: Iterable[Ring], roots: dict[Span, Reads]) -> frozenset[Span]:
    """The statements that the role keeps, where it can do all of them. `roots` are its fills as it has them.

    Raises Decline TLX305, TLX104.
    """
    dot, asked = one.dot, _asked(facts, one)
    needed = dot.b.reads - (dot.b.asks & asked)
    for load in (facts.loads[n] for n in one.raw if facts.loads[n].statement == dot.statement):
        needed &= load.beside | (load.mask_reads or frozenset())  # the slot stands for it: no address is read
    roots = {span: Reads(r.reads - (facts.statement(span).asks & asked), r.binds) for span, r in roots.items()}
    statements, roots = _without(facts.statements, asked), {**roots, dot.statement: Reads(needed)}
    result = keep(statements, roots)
    apart = _replaced_whole(rings) | {dot.statement}
    for ring, _, fill in fills_of(rings):
        if not ring.transformed and fill.statement in result - apart:
            raise refusal(dot, f"it also takes `{fill.name or fill.buffer}`, which dots read")
    every_one = list(every(statements))
    read = needed.union(*(statement.reads for statement in every_one if statement.span in result - roots.keys()))
    read = read.union(*(root.reads for root in roots.values()))
    if late := read & facts.statement(dot.statement).binds:
        raise refusal(dot, f"`{min(late)}` is the result of a dot, and it or a condition around it depends on that")
    others = {facts.loads[n].target for d in facts.dots for n in (d.a.load, d.b.load) if n is not None} - {None}
    bound = frozenset[str]().union(*(statement.binds for statement in every_one))
    if lost := read & others | live_before(statements, roots) & bound:
        raise refusal(dot, f"it also takes `{min(map(str, lost))}`, which dots read or nothing has set before")
    for other in facts.dots:
        if other.span != dot.span and other.statement in result:
            raise refusal(dot, "whether or how it is computed depends on the result of a dot")
    if any(store.statement in result for store in facts.stores):
        raise refusal(dot, "a statement that it is computed in also stores")
    stored = {store.pointer for store in facts.stores}
    for load in ordinary(facts, one, result, rings):
        if load.pointer is None:
            raise refusal(dot, "it takes what is read through a pointer that is no parameter")
        if load.pointer in stored:
            raise refusal(dot, f"it takes what is read through `{load.pointer}`, where the kernel also stores")
        if load.block_pointer or load.descriptor or any(load.pointer == hosted.name for hosted in facts.hosted):
            raise refusal(dot, f"it takes what is read through a block pointer or a descriptor of `{load.pointer}`")
    return result


def ordinary(facts: Facts, one: Computed, result: frozenset[Span], rings: Iterable[Ring]) -> list[Load]:
    """The loads that stay loads in the role. `result` are the statements that it keeps."""
    fed = {fill.load for _, _, fill in fills_of(rings)}
    parts = {part for load in facts.armed if load.span in fed for part in load.parts}
    held = (load for load in facts.loads if load.statement in result)
    inside = (load for load in held if load.span not in fed and load.id not in parts)
    dot = one.dot
    return [load for load in inside if load.statement != dot.statement or dot.b.span.contains(load.span)]


def _without(statements: Iterable[StatementFact], asked: frozenset[str]) -> tuple[StatementFact, ...]:
    """The statements as they read where these names are not asked for their dtype: the ring's is known."""
    if not asked:
        return tuple(statements)
    return tuple(
        replace(
            one,
            reads=one.reads - (one.asks & asked),
            body=_without(one.body, asked),
            orelse=_without(one.orelse, asked),
        )
        for one in statements
    )


def alone(facts: Facts, one: Computed, rings: Iterable[Ring], consumer: frozenset[Span]) -> None:
    """The consumers do without the raw tiles. Raises Decline TLX305."""
    dot, apart = one.dot, _replaced_whole(rings)
    kept = [statement for statement in every(facts.statements) if statement.span in consumer - apart]
    for ring, _, fill in fills_of(rings):
        if not ring.transformed or fill.statement == dot.statement:
            continue
        # In the place of a branch that loads other tiles as well stands what the consumers take of it.
        named = any(fill.name in (dot.beside if s.span == dot.statement else s.reads) for s in kept)
        if fill.statement in consumer - apart or (fill.statement in apart and named):
            raise refusal(dot, f"`{fill.name or fill.buffer}` is used for something else as well")


def _replaced_whole(rings: Iterable[Ring]) -> frozenset[Span]:
    """Branches in whose place each role has what it takes of the tiles that their arms load."""
    return frozenset(fill.statement for ring, _, fill in fills_of(rings) if ring.transformed and fill.whole)
