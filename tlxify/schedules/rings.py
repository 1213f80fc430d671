"""Places that fill slots → rings with names, and the loop whose dots stay under way.

A dot stays under way over a trip's end where its accumulator is touched by nothing else in the loop, both operands
are read in place, and no other dot shares the loop: the slot of a trip is released when the next trip's dot has been
issued and the older one has retired, which takes at least two stages. Every other dot is retired where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..facts import Dot, Facts, Load, LoopFact, Operand
from ..plan import Buffer, DotStep, Fill, InFlight, Ring, Side, Site, fills_of
from ..poly import ZERO
from ..source import Span
from . import lateness, order, requirements
from .buffers import Placed, named
from .feeding import Feeding
from .frame import Frame
from .sites import Place
from .tree import Tree


def build(
    frame: Frame, tree: Tree, feeding: Feeding, groups: Sequence[tuple[bool, list[Place]]], placed: dict[int, Placed]
) -> tuple[Ring, ...]:
    """The rings, with what every name in the emitted code will be."""
    own_names = _replaced(frame.facts, groups)
    buffers = [
        [
            named(frame, placed[n], frame.facts.loads[n], in_place=frame.facts.loads[n].pointer in own_names)
            for n in group[0].loads
        ]
        for _, group in groups
    ]
    rings = []
    for (stays, group), own in zip(groups, buffers, strict=True):
        prefix = "" if len(groups) == 1 else f"{own[0].name.removesuffix('_ring')}_"
        sites = tuple(_site(frame, tree, feeding, place, own, placed) for place in group)
        persistent = frame.persistence is not None
        again = persistent or len(group) > 1 or any(place.loops for place in group)
        copies = any(buffer.view.copied is not None for buffer in own)
        in_flight = lagging = None
        if len(group) == 1 and not stays:
            in_flight = _in_flight(frame, tree, feeding, group[0], alone=not persistent, counts=not copies)
            lagging = lateness.late(frame.facts, group[0], [places for _, places in groups])
        fresh = frame.names.fresh
        rings.append(
            Ring(
                buffers=tuple(own),
                sites=sites,
                depth="1" if stays else "STAGES",
                full=fresh(f"{prefix}full"),
                empty=fresh(f"{prefix}empty") if again else None,
                slot="0" if stays else fresh(f"{prefix}slot"),
                filled=fresh(f"{prefix}filled"),
                used=fresh(f"{prefix}used"),
                bytes=fresh(f"{prefix.upper() or 'SLOT_'}BYTES"),
                in_flight=in_flight,
                lagging=lagging if copies else None,
                landed=fresh(f"{prefix}landed") if copies and lagging is not None else "",
                transformed=feeding.computed is not None and group[0].loads[0] in feeding.computed.raw,
            )
        )
    return tuple(rings)


def _replaced(facts: Facts, groups: Sequence[tuple[bool, list[Place]]]) -> frozenset[str]:
    """Descriptors of the caller's that one of ours can stand for: it takes over every load, and no more is asked."""
    fed = {n for _, group in groups for place in group for n in place.loads}
    buffers = [facts.loads[n].pointer for _, group in groups for n in group[0].loads]
    kept = {load.pointer for load in facts.loads if load.id not in fed} | {store.pointer for store in facts.stores}
    candidates = (descriptor.name for descriptor in facts.hosted if descriptor.read and descriptor.name not in kept)
    return frozenset(name for name in candidates if buffers.count(name) == 1)


def _site(
    frame: Frame, tree: Tree, feeding: Feeding, place: Place, buffers: list[Buffer], placed: dict[int, Placed]
) -> Site:
    fills = []
    for number, buffer in zip(place.loads, buffers, strict=True):
        load, feed = frame.facts.loads[number], feeding.feeds[number]
        where = placed[number]
        fill = Fill(
            buffer.name,
            load.span,
            load.statement,
            where.coordinates,
            where.reads,
            load.target,
            feed.in_place,
            values=load.target or "" if feed.looked_at else "",
            whole=bool(load.parts),
            shape=_shape(frame, load),
            masked="" if feed.unmasked is None else "other" if load.filled else "zeros",
            copy=where.copy,
        )
        fills.append(fill)
    fills.sort(key=lambda fill: tree.begin(fill.statement))
    return Site(tuple(fills), place.release)


def _shape(frame: Frame, load: Load) -> tuple[str, ...]:
    """The lengths of a loaded block that has axes of one element besides those of its tile."""
    if None not in load.axes:
        return ()
    split = (frame.split_axis.id, frame.split.rows) if frame.split and frame.split_axis else (None, "")
    own = (None if axis is None else split[1] if axis == split[0] else axis for axis in load.axes)
    return tuple("1" if a is None else a if isinstance(a, str) else frame.facts.axis(a).length.text() for a in own)


def _in_flight(
    frame: Frame, tree: Tree, feeding: Feeding, place: Place, *, alone: bool, counts: bool
) -> InFlight | None:
    """The loop whose dots stay under way, if this place is filled once in every trip of one.

    The loop's own variable may count slots if it `counts`.
    """
    facts = frame.facts
    loop = next((loop for loop in facts.loops if place.loops and loop.span == place.loops[-1]), None)
    if loop is None or loop.kind != "range" or place.block != (loop.span, 0) or not counts_up(loop):
        return None
    dots = [dot for dot in facts.dots if loop.span in dot.loops]
    names = [dot.accumulator for dot in dots]
    if len(set(names)) != len(names) or not order.settled_bounds(facts, loop.span):
        return None
    for dot in dots:
        both = dot.a.load in place.loads and dot.b.load in place.loads
        in_place = both and dot in feeding.dots
        here = tree.block(dot.statement) == place.block
        if not in_place or not here or not requirements.untouched(facts, dot, loop.span):
            return None
    if not all(feeding.feeds[number].in_place for number in place.loads):
        return None
    start, stop, step = loop.text
    counted = counts and alone and len(place.loops) == 1 and start == "0" and step == "1"
    again = not alone or len(place.loops) > 1
    return InFlight(loop.span, frame.counters.get(loop.span, loop.variable or ""), start, stop, counted, again)


def counts_up(loop: LoopFact) -> bool:
    """Whether the step is a sum of positive parts: sizes and tiles are; `-BLOCK_K` is none."""
    return loop.step is not None and loop.step != ZERO and all(coefficient > 0 for _, coefficient in loop.step.terms)


def steps(frame: Frame, feeding: Feeding, rings: tuple[Ring, ...], views: dict[Span, str]) -> tuple[DotStep, ...]:
    """The dots that read slots. `views` names the view of each load that is read in place."""
    flying = [ring.in_flight.loop for ring in rings if ring.in_flight]
    return tuple(
        DotStep(
            span=dot.span,
            statement=dot.statement,
            sum=dot.sum,
            result=dot.result or frame.names.fresh("product"),
            addend=dot.addend,
            a=_side(frame.facts, feeding, dot, rings, views, first=True),
            b=_side(frame.facts, feeding, dot, rings, views, first=False),
            rounded=dot.rounded,
            in_flight=bool(dot.loops) and dot.loops[-1] in flying,
        )
        for dot in feeding.dots
    )


def _side(
    facts: Facts, feeding: Feeding, dot: Dot, rings: tuple[Ring, ...], views: dict[Span, str], *, first: bool
) -> Side:
    side = dot.a if first else dot.b
    feed = feeding.feeds.get(side.load) if side.load is not None else None
    if feed is None or not feed.in_place:
        return Side(None, side.text)
    fill = next(fill for _, _, fill in fills_of(rings) if fill.load == feed.load.span)
    return Side(fill.buffer, views[fill.load], side.how is Operand.TRANSPOSED)


def with_names(rings: tuple[Ring, ...], views: dict[Span, str]) -> tuple[Ring, ...]:
    """The rings with what the consumers call each tile that is read in place."""
    return tuple(
        replace(
            ring,
            sites=tuple(
                replace(
                    site,
                    fills=tuple(replace(fill, name=views.get(fill.load, fill.name)) for fill in site.fills),
                )
                for site in ring.sites
            ),
        )
        for ring in rings
    )
