"""What each role is kept for: the statements it replaces, each with what the replacement reads and binds."""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import Facts, Sum, every
from ..plan import DotStep, Fill, Ring, fills_of
from ..source import Span
from .slicing import Reads

#: Statements without a value or effect that go wherever the consumer goes: they check and promise.
CHECKS = frozenset({"static_assert", "assume", "docstring"})


def producer_roots(made: tuple[Ring, ...]) -> dict[Span, Reads]:
    """The loads, each reading what its coordinates are written with."""
    roots: dict[Span, Reads] = {}
    for _, _, fill in fills_of(made):
        held = roots.get(fill.statement, Reads(frozenset()))
        roots[fill.statement] = Reads(held.reads | fill.reads)
    return roots


def consumer_roots(facts: Facts, made: tuple[Ring, ...], dots: tuple[DotStep, ...]) -> dict[Span, Reads]:
    """The fills that the consumers use and the dots, each with what its replacement reads and binds."""
    fills = [fill for ring, _, fill in fills_of(made) if not ring.transformed]
    roots = fill_roots(facts, fills)
    for step in dots:
        dot = next(dot for dot in facts.dots if dot.span == step.span)
        reads = dot.beside | (dot.a.reads if step.a.buffer is None else {step.a.text}) | {step.b.text}
        reads -= {fill.name for fill in fills if fill.statement == dot.statement and fill.name}
        binds = facts.statement(dot.statement).binds
        if step.sum in (Sum.ADDED, Sum.RESCALED):
            reads |= {step.result}
        roots[dot.statement] = Reads(reads, binds)
    return roots


def fill_roots(facts: Facts, fills: Sequence[Fill]) -> dict[Span, Reads]:
    """The fills, each with what its replacement reads and binds in the role that uses the slots.

    What only led to an address is read no more; what stands beside a load in its statement still is.
    """
    loads = {load.span: load for load in facts.loads}
    roots: dict[Span, Reads] = {}
    for fill in fills:
        load = loads[fill.load]
        binds = facts.statement(fill.statement).binds
        if load.parts and fill.name:
            binds = frozenset({fill.name})
        if fill.in_place:
            roots[fill.statement] = Reads(frozenset(), frozenset(filter(None, (fill.name, fill.values))))
            continue
        others = [loads[other.load] for other in fills if other.statement == fill.statement]
        masks = [
            loads[other.load].mask_reads or frozenset()
            for other in fills
            if other.masked and other.statement == fill.statement
        ]
        beside = load.beside.intersection(*(other.beside for other in others))
        roots[fill.statement] = Reads(beside.union(*masks), binds)
    return roots


def effects(facts: Facts) -> frozenset[Span]:
    """The statements that the consumers keep whatever their roots are: stores, checks and what has another effect."""
    stores = {store.statement for store in facts.stores}
    checks = {statement.span for statement in facts.statements if statement.text_kind in CHECKS}
    effects = [span for span, _ in facts.effects]
    simple = [s.span for s in every(facts.statements) if s.kind == "simple"]
    return frozenset(stores | checks | {span for span in simple if any(span.contains(effect) for effect in effects)})
