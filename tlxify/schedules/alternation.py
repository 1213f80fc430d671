"""Consumer groups that take whole tiles in turn: one finishes and stores its tile while the next multiplies its own.

It takes a loop over tiles, in whose body all dots come before all stores. The groups share the rings: the next group
begins to look at slots when the one before has issued its last dot, so slots are used in the order in which the
producer fills them, and no group can lag a whole phase behind. A group counts the slots of the others' tiles; nothing
else of a tile may reach the next one.

The tiles of a grid are independent. Those of a loop of the source are finished in the loop's order, so stores that meet
leave what they left there.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..diagnostics import Decline
from ..facts import Facts, StatementFact, every
from ..plan import Alternation, DotStep, Ring, fills_of
from ..source import Span
from .frame import Frame
from .slicing import Reads, keep, live_before
from .tree import KERNEL, Block, Tree


def alternation(
    frame: Frame,
    tree: Tree,
    rings: tuple[Ring, ...],
    dots: tuple[DotStep, ...],
    consumer: frozenset[Span],
    roots: Mapping[Span, Reads],
    always: frozenset[Span],
) -> Alternation:
    """How groups take tiles in turn. Raises Decline TLX318.

    `consumer` are the statements that a consumer keeps, for the sake of `roots` and of what is kept `always`.
    """
    facts = frame.facts
    loop = _tile_loop(facts, rings)
    if loop is None and frame.persistence is None:
        raise _refusal(facts, "there is no loop over tiles")
    if not all(ring.counted for ring in rings):
        raise _refusal(facts, "its slots are used once")
    using = [fill.statement for _, _, fill in fills_of(rings)] + [step.statement for step in dots]
    using += [dot.statement for dot in facts.dots] + [site.release for ring in rings for site in ring.sites]
    ending = [*(store.statement for store in facts.stores), *_effects(facts)]
    block = _innermost(facts, tree, [*using, *ending], (loop, 0) if loop is not None else KERNEL)
    working = [_top(facts, tree, span, block) for span in using]
    storing = [_top(facts, tree, span, block) for span in ending]
    first, last = min(working, key=tree.begin), max(working, key=tree.begin)
    if not storing or any(tree.begin(span) <= tree.begin(last) for span in storing):
        raise _refusal(facts, "what it stores is not behind all its dots")
    stores = None
    if block[0] is not None:
        _nothing_left(facts, block[0], consumer, roots)
    if loop is not None:
        _nothing_carried(facts, loop, consumer, roots, always)
        stores = (min(storing, key=tree.begin), max(storing, key=tree.begin))
    counting = {site.fills[-1].statement: Reads(frozenset()) for ring in rings for site in ring.sites}
    fresh = frame.names.fresh
    return Alternation(
        block=(block[0], block[1]) if block[0] is not None else None,
        group=fresh("group"),
        turn=fresh("turn"),
        barrier=fresh("TURN"),
        first=first,
        last=last,
        stores=stores,
        counts=keep(facts.statements, counting),
    )


def _innermost(facts: Facts, tree: Tree, spans: list[Span], block: Block) -> Block:
    """The block that holds them all: an arm of a branch, where all that is done for a tile is done under a condition.

    All groups ask the condition, and get the same answer.
    """
    while True:
        tops = {_top(facts, tree, span, block) for span in spans}
        statement = facts.statement(next(iter(tops)))
        if len(tops) > 1 or statement.kind != "branch":
            return block
        arms = [all(tree.within(span, (statement.span, arm)) is not None for span in spans) for arm in (0, 1)]
        if not any(arms):
            return block
        block = (statement.span, arms.index(True))


def _tile_loop(facts: Facts, rings: tuple[Ring, ...]) -> Span | None:
    """The outermost loop of the source that holds all slots and all stores, where its trips can be dealt out."""
    inside = [site.first for ring in rings for site in ring.sites] + [store.statement for store in facts.stores]
    around = [loop for loop in facts.loops if all(loop.span.contains(span) for span in inside)]
    if not around:
        return None
    outer = max(around, key=lambda loop: sum(loop.span.contains(other.span) for other in around))
    if outer.kind != "range":
        raise _refusal(facts, "the loop over tiles is no `range`")
    return outer.span


def _nothing_carried(
    facts: Facts, loop: Span, consumer: frozenset[Span], roots: Mapping[Span, Reads], always: frozenset[Span]
) -> None:
    """A tile needs nothing of the one before. Raises Decline TLX318."""
    head = facts.statement(loop)
    bound = _bound(head, consumer, roots)
    if carried := live_before(head.body, roots, always) & bound:
        raise _refusal(facts, f"`{min(carried)}` goes from one tile to the next")
    stored = {store.pointer for store in facts.stores}
    if any(load.pointer in stored or load.pointer is None for load in facts.loads):
        raise _refusal(facts, "it may read what it has stored for another tile")


def _nothing_left(facts: Facts, holder: Span, consumer: frozenset[Span], roots: Mapping[Span, Reads]) -> None:
    """What stands around the block that is dealt out reads nothing of it. Raises Decline TLX318."""
    statement = facts.statement(holder)
    # What follows an early return counts as an arm of its branch, though its span does not hold it.
    inside = {holder, *(one.span for one in every((*statement.body, *statement.orelse)))}
    around = [one for one in every(facts.statements) if one.span in consumer and one.span not in inside]
    read = frozenset[str]().union(*(one.reads for one in around))
    if left := read & _bound(statement, consumer, roots):
        raise _refusal(facts, f"`{min(left)}` is read outside of what is done for a tile")


def _bound(holder: StatementFact, consumer: frozenset[Span], roots: Mapping[Span, Reads]) -> frozenset[str]:
    """Names that a consumer binds inside of a statement."""
    inside = every((*holder.body, *holder.orelse))
    return frozenset[str]().union(*(_binds(one, roots) for one in inside if one.span in consumer))


def _binds(statement: StatementFact, roots: Mapping[Span, Reads]) -> frozenset[str]:
    root = roots.get(statement.span)
    return root.binds if root is not None else statement.binds


def _effects(facts: Facts) -> list[Span]:
    return [statement.span for statement in every(facts.statements) if _has_effect(facts, statement)]


def _has_effect(facts: Facts, statement: StatementFact) -> bool:
    return statement.kind == "simple" and any(statement.span.contains(span) for span, _ in facts.effects)


def _top(facts: Facts, tree: Tree, span: Span, block: Block) -> Span:
    """The statement of the loop's body that is or holds one. Raises Decline TLX318 where that is outside."""
    top = tree.within(span, block)
    if top is None:
        raise _refusal(facts, "the loop over tiles does not hold all that it multiplies and stores")
    return top


def _refusal(facts: Facts, why: str) -> Decline:
    return Decline("TLX318", facts.dots[0].span, why=why)
