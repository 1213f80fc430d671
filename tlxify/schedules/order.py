"""What must not change between the places that a conversion moves apart or writes twice.

The emitted loop asks its bounds again after every dot, a role repeats what it needs of the kernel, and the producer
runs ahead of the consumers' stores. Names and memory that these rely on must hold still.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..diagnostics import Decline
from ..facts import Facts, Load, LoopFact, StatementFact
from ..source import Span


def settled_bounds(facts: Facts, loop: LoopFact) -> None:
    """The loop rebinds neither its counter nor what its bounds are made of. Raises Decline TLX104."""
    head = next(s for s in _every(facts.statements) if s.span == loop.span)
    for statement in _every(head.body):
        for name in sorted(statement.binds & (head.reads | head.binds)):
            what = "its counter" if name in head.binds else "a bound of the loop"
            raise Decline("TLX104", statement.span, what=f"a loop that rebinds `{name}`, {what}")
    for name in sorted(head.reads & head.binds):
        raise Decline("TLX104", head.span, what=f"a loop whose counter `{name}` is also one of its bounds")


def loads_stand_alone(facts: Facts, feeds: Collection[Load]) -> None:
    """A statement that loads operands binds nothing else: a role puts its own in its place. Raises Decline TLX104."""
    dots = {dot.statement for dot in facts.dots}
    for statement in _every(facts.statements):
        here = [load for load in feeds if load.statement == statement.span]
        if here and statement.span not in dots and len(statement.binds) != len(here):
            raise Decline("TLX104", here[0].span, what="a statement that loads an operand and binds something else")


def not_read_back(facts: Facts, producer: frozenset[Span]) -> None:
    """The producer reads nothing that the kernel itself stores: it runs ahead of the stores. Raises Decline TLX104.

    Its scalars count as well: what a bound or a condition is made of must be the same when the consumers read it.
    """
    stored = {store.pointer for store in facts.stores}
    for load in facts.loads:
        if load.statement not in producer:
            continue
        if load.pointer in stored:
            raise Decline("TLX104", load.span, what=f"what it stores through `{load.pointer}` as input of its dots")
        if load.pointer is None and not load.axes:
            raise Decline("TLX104", load.span, what="a bound or condition read through a pointer that is no parameter")


def same_way(facts: Facts, producer: frozenset[Span]) -> None:
    """Every condition around the rings is one value for the whole program, and known before the dots.

    Each role asks it for itself; they take the same number of trips only if all get the same answer. Raises Decline
    TLX304, TLX306.
    """
    accumulators = {dot.accumulator for dot in facts.dots}
    replaced = {facts.loads[side.load].statement for d in facts.dots for side in (d.a, d.b) if side.load is not None}
    for statement in _every(facts.statements):
        if statement.span not in producer:
            continue
        if statement.span not in replaced and statement.reads & accumulators:
            raise Decline("TLX104", statement.span, what="a dot whose result decides what is loaded")
        if statement.kind == "branch" and statement.span in facts.block_tests:
            text = next((text for span, text in facts.conditions if span == statement.span), "a condition")
            why = "that is no single value for the whole program"
            leaves = any(inner.text_kind == "return" for inner in (*statement.body, *statement.orelse))
            raise Decline("TLX306" if leaves else "TLX304", statement.span, condition=text, why=why)


def joined(facts: Facts, loop: Span) -> bool:
    """Whether an accumulator is read behind a condition around the dot loop: as one of two values."""
    accumulators = {dot.accumulator for dot in facts.dots}

    def outside(statements: Iterable[StatementFact], *, behind: bool) -> bool:
        for statement in statements:
            if behind and any(one.reads & accumulators for one in _every([statement])):
                return True
            inner = (*statement.body, *statement.orelse)
            if any(one.span == loop for one in _every(inner)):
                if any(outside(arm, behind=False) for arm in (statement.body, statement.orelse)):
                    return True
                behind = statement.kind == "branch"
        return False

    return outside(facts.statements, behind=False)


def rebound(facts: Facts, names: Collection[str], roles: Iterable[frozenset[Span]]) -> bool:
    """Whether a role keeps a statement that binds one of the names: repeated for every tile, it would add up."""
    kept = frozenset[Span]().union(*roles)
    return any(statement.span in kept and statement.binds & set(names) for statement in _every(facts.statements))


def used_names(facts: Facts, parameters: Collection[str]) -> frozenset[str]:
    """Every name that the kernel itself binds or reads."""
    return frozenset(parameters).union(*(s.binds | s.reads for s in _every(facts.statements)))


def _every(statements: Iterable[StatementFact]) -> Iterable[StatementFact]:
    for statement in statements:
        yield statement
        yield from _every((*statement.body, *statement.orelse))
