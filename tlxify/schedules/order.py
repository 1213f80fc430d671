"""What must not change between the places that a conversion moves apart or writes twice.

The emitted loop asks its bounds again after every dot, a role repeats what it needs of the kernel, and the producer
runs ahead of the consumers' stores. Names and memory that these rely on must hold still.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..diagnostics import Decline
from ..facts import Facts, StatementFact, every
from ..plan import DotStep, Ring, fills_of
from ..source import Span


def settled_bounds(facts: Facts, loop: Span) -> bool:
    """Whether the loop rebinds neither its counter nor what its bounds are made of."""
    head = facts.statement(loop)
    inside = any(statement.binds & (head.reads | head.binds) for statement in every(head.body))
    return not inside and not head.reads & head.binds


def not_read_back(facts: Facts, producer: frozenset[Span]) -> None:
    """The producer reads nothing that the kernel itself stores: it runs ahead of the stores. Raises Decline TLX321.

    Its scalars count as well: what a bound or a condition is made of must be the same when the consumers read it.
    """
    stored = {store.pointer for store in facts.stores}
    for load in facts.loads:
        if load.statement not in producer:
            continue
        if load.pointer in stored:
            raise Decline("TLX321", load.span, what=f"loads through `{load.pointer}`, where it also stores")
        if load.pointer is None:
            what = "reads a bound or condition through a pointer that is no parameter"
            raise Decline("TLX321", load.span, what=what)


def same_way(facts: Facts, producer: frozenset[Span], filling: frozenset[Span], tiles: frozenset[str]) -> None:
    """Every condition around the rings is one value for the whole program, and known before the dots.

    Each role asks it for itself; they take the same number of trips only if all get the same answer. `filling` are the
    statements in whose place the producer fills slots, `tiles` the names they load tiles into.

    Raises Decline TLX304, TLX306, TLX322.
    """
    dots = {dot.statement for dot in facts.dots}
    for statement in every(facts.statements):
        if statement.span not in producer or statement.span in filling:
            continue
        if statement.span in dots:
            raise Decline("TLX322", statement.span, what="The result of a dot")
        if statement.reads & tiles:
            raise Decline("TLX322", statement.span, what="What is in a loaded tile")
        if statement.kind == "branch" and statement.span in facts.block_tests:
            text = next((text for span, text in facts.conditions if span == statement.span), "a condition")
            why = "that is no single value for the whole program"
            leaves = any(inner.text_kind == "return" for inner in (*statement.body, *statement.orelse))
            raise Decline("TLX306" if leaves else "TLX304", statement.span, condition=text, why=why)


def misnamed(
    facts: Facts, consumer: frozenset[Span], rings: Collection[Ring], dots: Collection[DotStep]
) -> frozenset[str]:
    """Names of tiles that the consumer reads where they mean something else, or no tile any more."""
    fills = [fill for _, _, fill in fills_of(rings)]
    given = {fill.load: fill.name for fill in fills if fill.in_place and not fill.values}
    other = {load.target: load.target for load in facts.loads if load.span in given and load.target != given[load.span]}
    # `k = tl.trans(kt)` vanishes with the dot that reads `k`: there is no such tile to ask for its type.
    for side in (side for dot in facts.dots for side in (dot.a, dot.b)):
        load = facts.loads[side.load] if side.load is not None else None
        if load is not None and load.span in given and side.text.isidentifier() and side.text != given[load.span]:
            other.setdefault(side.text, load.target)
    replaced = {fill.statement for fill in fills} | {step.statement for step in dots}
    kept = (s for s in every(facts.statements) if s.span in consumer and s.span not in replaced)
    asked = [statement.reads & other.keys() for statement in kept]
    # A dot's own operands are replaced; what else its statement reads is not: `p.to(k.dtype)`.
    for step in dots:
        dot = next(dot for dot in facts.dots if dot.span == step.span)
        apart = [side.reads for side, slot in ((dot.a, step.a), (dot.b, step.b)) if slot.buffer is None]
        asked.append(dot.beside.union(*apart) & other.keys())
    found = (other[name] for names in asked for name in names)
    return frozenset(name for name in found if name is not None)


def joined(facts: Facts) -> bool:
    """Whether an accumulator is read behind a condition around its loop: as one of two values."""
    accumulators = {dot.accumulator for dot in facts.dots if dot.accumulator is not None}
    loops = {dot.loops[-1] for dot in facts.dots if dot.loops}

    def outside(statements: Iterable[StatementFact], *, behind: bool) -> bool:
        for statement in statements:
            if behind and any(one.reads & accumulators for one in every([statement])):
                return True
            inner = (*statement.body, *statement.orelse)
            if any(one.span in loops for one in every(inner)):
                if any(outside(arm, behind=False) for arm in (statement.body, statement.orelse)):
                    return True
                behind = statement.kind == "branch"
        return False

    return outside(facts.statements, behind=False)


def rebound(facts: Facts, names: Collection[str], roles: Iterable[frozenset[Span]]) -> bool:
    """Whether a role keeps a statement that binds one of the names: repeated for every tile, it would add up."""
    kept = frozenset[Span]().union(*roles)
    return any(statement.span in kept and statement.binds & set(names) for statement in every(facts.statements))


def used_names(facts: Facts, parameters: Collection[str]) -> frozenset[str]:
    """Every name that the kernel itself binds or reads."""
    return frozenset(parameters).union(*(s.binds | s.reads for s in every(facts.statements)))
