"""Loops whose last dot may be issued a trip late, and dots that consumer groups take turns for.

Attention is the example. A trip multiplies Q and K, computes the softmax, and multiplies its result by V: the tensor
cores wait for the softmax, and the softmax for them. With the second product issued behind the first of the *next*
trip, the softmax runs beside it. Every sum still gets the same terms in the same order, so no result changes. Nothing
may look at the sum between the place where the dot stood and the first dot of the next trip, and its operand from
registers must be kept until then.

On Hopper, `exp` compiles to three products more per element than `exp2`; masks and other functions add theirs. A loop
that has much of that keeps the floating-point units busy while the other group multiplies, and gains nothing; what is
carried for the late dot then costs.

Where two groups take turns, one issues its dots while the other is between its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import Decline
from ..facts import Dot, Facts, LoopFact, StatementFact, Sum, every
from ..plan import Delayed, DotStep, Ring, Site, Turns
from ..source import Span
from .feeding import Feeding
from .frame import Frame
from .rings import counts_up
from .tree import Tree

#: Functions that, beside `exp`, leave a loop waiting for its floating-point units.
FURTHER = frozenset({"where", "sigmoid", "log", "log2", "erf", "sin", "cos", "sqrt", "sqrt_rn", "rsqrt"})


def delayed(
    frame: Frame, tree: Tree, feeding: Feeding, rings: tuple[Ring, ...], dots: tuple[DotStep, ...]
) -> tuple[Delayed, ...]:
    """The loops whose last dot is issued a trip late."""
    found, facts = [], frame.facts
    for loop in facts.loops:
        pair = _chained(facts, tree, feeding, loop)
        # Slots that threads copy are announced trips later: nothing may wait for a later one before it frees another.
        copied = any(ring.copied for ring, _ in _sites_in(rings, tree, loop.span))
        if pair is None or copied or not _may_begin_early(facts, loop):
            continue
        ahead, late = pair
        step = next(step for step in dots if step.span == late.span)
        retire = _first_use_of_sum(facts, tree, loop, ahead, late)
        held = _shape(frame, late)
        if retire is None or held is None or not _slot_of_its_own(facts, tree, loop, rings, ahead, step):
            continue
        # What the loop applies to every element of a tile.
        used = {name for span, name in facts.elementwise if tree.within(span, (loop.span, 0)) is not None}
        if _busy(used):
            continue
        # Where nothing rescales the sum there is no softmax to run beside the dot, and carrying its operand only costs:
        # a chain of two layers took 1.14 to 1.28 times as long on an H200, decaying attention 1.09 to 1.23 times.
        if retire == late.statement and (late.sum is Sum.ADDED or late.addend == late.result):
            continue
        start, stop, by = loop.text
        variable = frame.counters.get(loop.span, loop.variable or "")
        name = frame.names.fresh(f"{_stem(late.a.text)}_held")
        tile = facts.loads[late.b.load or 0]
        asked = [*_reading(facts.statement(loop.span), step.b.text, {tile.statement, late.statement})]
        narrowed = _narrowed(facts, loop, late, step) if "exp" in used else None
        found.append(
            Delayed(
                loop=loop.span,
                variable=variable,
                start=start,
                stop=stop,
                step=by,
                ahead=ahead.span,
                late=late.span,
                retire=retire,
                held=name,
                shape=held,
                asked=bool(asked) or (narrowed is None and step.b.text in late.a.reads),
                narrowed=narrowed,
            )
        )
    return tuple(found)


def turns(frame: Frame, tree: Tree, feeding: Feeding) -> Turns:
    """The dots that consumer groups take turns for. Raises Decline TLX318 where there can be one group alone."""
    facts, pairs = frame.facts, chained(frame.facts, tree, feeding)
    if frame.split is None:
        raise Decline("TLX318", facts.dots[0].span, why="the rows of the tile cannot be divided between two groups")
    return Turns(frame.names.fresh("TURN"), tuple(ahead.span for ahead, _ in pairs))


def chained(facts: Facts, tree: Tree, feeding: Feeding) -> list[tuple[Dot, Dot]]:
    """The dots of loops in which one multiplies what the one before it has led to."""
    return [pair for loop in facts.loops if (pair := _chained(facts, tree, feeding, loop)) is not None]


def _chained(facts: Facts, tree: Tree, feeding: Feeding, loop: LoopFact) -> tuple[Dot, Dot] | None:
    """The last two dots of a loop, where the second multiplies what the first has led to, out of registers."""
    dots = [dot for dot in facts.dots if loop.span in dot.loops]
    dots.sort(key=lambda dot: tree.begin(dot.statement))
    if len(dots) < 2 or any(dot not in feeding.dots or tree.block(dot.statement) != (loop.span, 0) for dot in dots):
        return None
    ahead, late = dots[-2:]
    from_registers = late.a.load is None and late.a.after_dot
    return (ahead, late) if from_registers and late.b.load is not None else None


def _may_begin_early(facts: Facts, loop: LoopFact) -> bool:
    """Whether the first trip can stand in front of the loop: its bounds say the same there, and behind it."""
    head = facts.statement(loop.span)
    fixed = not head.reads & head.binds and not any(one.binds & head.reads for one in every(head.body))
    return loop.kind == "range" and counts_up(loop) and fixed


def _first_use_of_sum(facts: Facts, tree: Tree, loop: LoopFact, ahead: Dot, late: Dot) -> Span | None:
    """The statement in front of which the late dot is retired; None where that would be before another dot is issued.

    In every trip the sum is touched between the two dots alone, so what the late dot adds to is what it was. It comes
    from the trip before, and is read before anything else is put in its place.
    """
    onto = late.sum is Sum.ALONE and bool(late.addend)
    if late.result is None or not (onto or late.sum in (Sum.ADDED, Sum.RESCALED)):
        return None
    touching = [
        statement
        for statement in facts.statement(loop.span).body
        if any(late.result in one.binds | one.reads for one in every([statement]))
    ]
    begin, end = tree.begin(ahead.statement), tree.begin(late.statement)
    if any(not begin < tree.begin(statement.span) <= end for statement in touching):
        return None
    carried = any(late.result in one.reads for one in every([touching[0]]))
    return touching[0].span if carried else None


def _slot_of_its_own(
    facts: Facts, tree: Tree, loop: LoopFact, rings: tuple[Ring, ...], ahead: Dot, late: DotStep
) -> bool:
    """Whether the slot that the late dot reads can be waited for and freed a trip late, apart from all others."""
    for ring, site in _sites_in(rings, tree, loop.span):
        if any(fill.buffer == late.b.buffer for fill in site.fills):
            (fill, *others) = site.fills
            alone = not others and fill.in_place and not fill.values and site.release == late.statement
            own = [one for one, _ in _sites_in(rings, tree, loop.span) if one is ring]
            if not alone or len(own) > 1 or not ring.counted or ring.depth == "1":
                return False
            reading = _reading(facts.statement(loop.span), fill.name, {fill.statement, late.statement})
            return all(tree.begin(span) > tree.begin(ahead.statement) for span in reading)
    return False


def _sites_in(rings: tuple[Ring, ...], tree: Tree, loop: Span) -> Iterator[tuple[Ring, Site]]:
    for ring in rings:
        for site in ring.sites:
            if tree.within(site.first, (loop, 0)) is not None:
                yield ring, site


def _reading(loop: StatementFact, name: str | None, replaced: set[Span]) -> list[Span]:
    """Statements that ask the tile for its type: where they stand, the slot must have its name."""
    return [one.span for one in every(loop.body) if name in one.reads and one.span not in replaced]


def _busy(used: set[str]) -> bool:
    """Whether a loop that applies these functions computes so much for a score that its dots are not what it waits for.

    On an H200, with the last dot late, of the time without: exp and a mask 1.03 to 1.05, with a window 1.07 to 1.10, a
    bias 1.08 to 1.13, a cap 1.08 to 1.10. exp alone 0.97; exp2, with a mask or without, 0.73 to 0.92.
    """
    return "exp" in used and bool(used & FURTHER)


def _narrowed(facts: Facts, loop: LoopFact, late: Dot, step: DotStep) -> tuple[str, str] | None:
    """The operand before its cast and the dtype, where the cast can wait for the dot: the dtype says the same there.

    Elements of 16 bits that a loop carries are one register each to the compiler, while the dot wants two in one: an
    attention of 64 columns had 321 instructions that take them apart and put them together. Carried as fp32, they are
    cast in pairs where the dot is issued: 0.91 to 0.95 of the time on an H200. The results of exp2 are paired without
    help, and the registers are worth more: 0.95 of the time as 16 bits, at 128 columns.
    """
    if late.a.narrowed is None or step.a.text != late.a.text:
        return None
    read = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", late.a.narrowed[1]))
    bound = {name for one in every(facts.statement(loop.span).body) for name in one.binds}
    return late.a.narrowed if read & bound <= {step.b.text} else None


def _shape(frame: Frame, late: Dot) -> tuple[str, str] | None:
    """Rows and columns of the late dot's first operand, as one group has it."""
    lengths = []
    for number in late.a.axes:
        if number is None or not frame.facts.axis(number).length.constexpr:
            return None
        own = frame.split is not None and frame.split_axis is not None and number == frame.split_axis.id
        lengths.append(frame.split.rows if own and frame.split else frame.facts.axis(number).length.text())
    return (lengths[0], lengths[1]) if len(lengths) == 2 else None


def _stem(text: str) -> str:
    """`p.to(v.dtype)` → `p`."""
    name = re.match(r"[A-Za-z]\w*(?![\w(])(?=\.to\(|$)", text)
    return name.group() if name else "operand"
