"""What a kernel must look like for a producer/consumer schedule, each requirement with the refusal it ends in.

Every check is a proof obligation of `conversion.md`'s kind: what is not understood is declined where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..diagnostics import Decline
from ..facts import Access, Dot, Facts, Load, every
from ..source import Span
from ..targets import Target

if TYPE_CHECKING:
    from .feeding import Feeding


def any_dot(facts: Facts) -> None:
    """Raises Decline TLX301 for a kernel without a dot, TLX104 for a dot inside a helper."""
    if not facts.dots:
        raise Decline("TLX301", None, name=facts.kernel)
    for dot in facts.dots:
        if dot.helpers:
            raise Decline("TLX104", dot.statement, what=f"a dot inside the helper `{dot.helpers[0]}`")


def effects(facts: Facts) -> None:
    """No side effect that a role would repeat, drop or reorder. Raises Decline TLX104, TLX306, TLX308, TLX312."""
    for span in facts.returns:
        raise Decline("TLX306", span, why="in a loop, or with a value")
    for span, what in facts.effects:
        if what not in KEPT:
            raise Decline("TLX312", span, name=what)
    bound = {statement.span: statement.binds for statement in every(facts.statements)}
    for store in facts.stores:
        # An atomic whose result nobody sees adds up, like a store; any other asks what another program did.
        if store.kind != "store" and (bound.get(store.statement) or store.kind in _ASKING):
            raise Decline("TLX308", store.span, name=f"tl.{store.kind}")
        if store.helpers:
            raise Decline("TLX104", store.statement, what=f"a store inside the helper `{store.helpers[0]}`")


#: What the warps that compute do among themselves, as they did in the source.
KEPT = frozenset({"tl.debug_barrier", "tl.device_assert"})
#: Why an operand that is computed with a vector of each trip is left alone: corpus/fused/norm_linear.
VECTOR = (
    "its dot waits for a vector that each trip loads into registers, which took 1.15 to 1.25 times as long as the"
    " source on an H200"
)
#: Atomics that exist for the answer.
_ASKING = frozenset({"atomic_cas", "atomic_xchg"})


def strided(facts: Facts, load: Load, called: str) -> Access:
    """The tile behind a load that the TMA can be asked for; `called` is what the source calls it.

    Raises Decline TLX2xx, TLX104, TLX321, TLX322.
    """
    problem = facts.problem(load.span)
    if problem is not None:
        raise Decline.of(problem)
    access = facts.access(load.span)
    if access is None:
        raise Decline("TLX201", load.span, name=load.pointer or called)
    movable(facts, load)
    return access


def movable(facts: Facts, load: Load) -> None:
    """Whether the producer can do a load in the source's place. Raises Decline TLX104, TLX321, TLX322."""
    if load.helpers:
        raise Decline("TLX104", load.statement, what=f"an operand loaded inside the helper `{load.helpers[0]}`")
    if load.after_dot:
        raise Decline("TLX322", load.span, what="The result of a dot")
    if load.pointer in {store.pointer for store in facts.stores}:
        raise Decline("TLX321", load.span, what=f"loads through `{load.pointer}`, where it also stores")
    if not load.parts and not any(s.span == load.statement and s.kind == "simple" for s in every(facts.statements)):
        raise Decline("TLX104", load.span, what="an operand loaded in the head of a loop or a condition")


def worthwhile(facts: Facts, feeding: Feeding) -> None:
    """Whether the roles can be expected to pay: some loop keeps the tensor cores busy from slots alone.

    Where a dot in a loop waits for a tile that its own warps load or convert, the source, whose loads the compiler
    pipelines, is as fast or faster. Raises Decline TLX2xx, TLX104, TLX302, TLX304, TLX305, TLX309, TLX310, TLX501.
    """
    # A dot around which others loop deeper finishes what they have done.
    deeper = {loop for dot in facts.dots for loop in dot.loops[:-1]}
    looped = [dot for dot in facts.dots if dot.loops and dot.loops[-1] not in deeper]
    if not looped:
        raise Decline("TLX302", facts.dots[0].span)
    for dot in looped:
        if dict(dot.options).get("input_precision", "").strip("'\"") == "ieee":
            raise Decline("TLX309", dot.span)
        for arm in dot.arms:
            if dot.loops[-1].contains(arm):
                raise Decline("TLX304", dot.span, condition=_condition(facts, arm))
        if not dot.dtypes:
            name, asked = dot.result or "the result of the dot", dict(dot.options).get("out_dtype", "another dtype")
            raise Decline("TLX310", dot.span, name=name, why=f"it accumulates in `{asked}`")
        for side in (dot.a, dot.b):
            for number in [side.load] if side.load is not None else sorted(side.loads):
                load = facts.loads[number]
                computed = feeding.computed
                if computed is not None and side is computed.dot.b and number not in computed.raw:
                    continue
                if not load.axes or load.loops != dot.loops or (side.load is None and side.after_dot):
                    continue
                if _beside_a_tile(facts, load, side.loads & feeding.feeds.keys()):
                    raise Decline("TLX501", load.span, why=VECTOR)
                if number in feeding.refused:
                    problem = feeding.refused[number]
                    raise Decline.of(problem)
                if number in feeding.feeds and (masked := feeding.feeds[number].unmasked) is not None:
                    raise Decline.of(masked)
                for arm in load.arms:
                    if load.loops[-1].contains(arm):
                        raise Decline("TLX304", load.span, condition=_condition(facts, arm))
        if dot not in feeding.dots:
            other = facts.loads[dot.b.load].other_use if dot.b.load is not None else None
            if other is not None:
                raise Decline("TLX313", other, name=facts.loads[dot.b.load].target or dot.b.text)  # type: ignore[index]
            if (why := feeding.uncomputed) is not None and why.span == dot.b.span:
                raise Decline.of(why)
            raise Decline("TLX305", dot.b.span, name=dot.b.text)
    raw = feeding.computed.raw if feeding.computed is not None else frozenset()
    read = {n for dot in feeding.dots for n in (dot.a.load, dot.b.load) if n is not None}
    if not any(facts.loads[n].loops for n in read | raw if n in feeding.feeds):
        raise Decline("TLX305", looped[0].b.span, name=looped[0].b.text, why="it is loaded outside the loop")


def _beside_a_tile(facts: Facts, load: Load, fed: Iterable[int]) -> bool:
    """Whether it is a vector beside a tile, of those `fed`, that is computed with it: its own warps load it."""
    return not load.is_tile and any(facts.loads[number].is_tile for number in fed)


def untouched(facts: Facts, dot: Dot, loop: Span) -> bool:
    """Whether the dot adds to a name that no other statement of the loop reads or binds."""
    inside = (s for s in every(facts.statements) if s.span != loop and loop.contains(s.span))
    return dot.accumulator is not None and all(
        statement.span == dot.statement or dot.accumulator not in statement.binds | statement.reads
        for statement in inside
    )


def rows_are_independent(facts: Facts, access: Access, load: Load) -> bool:
    """Whether a wrapped axis occurs.

    Raises Decline TLX206 unless its wrapped positions can only reach masked-out results.
    """
    wrapped = False
    for dimension in access.dimensions:
        if not dimension.wrapped or dimension.whole or dimension.axis is None or dimension.extent is None:
            continue
        wrapped = True
        axis = facts.axis(dimension.axis)
        if axis.contracted or axis.reduced or axis.opaque:
            raise Decline("TLX206", load.span, name=access.pointer, why="something combines its rows")
        bound = dimension.coordinate - dimension.extent
        for store in facts.stores:
            if not any(b.axis == dimension.axis and b.index == bound for b in store.bounds):
                raise Decline(
                    "TLX206",
                    load.span,
                    name=access.pointer,
                    why=f"the store in line {store.span.line} does not mask them",
                )
    return wrapped


def tile_fits(target: Target, rows: str, depth: str, span: Span) -> None:
    """Literal tile sizes must suit the tensor cores; those that are parameters are checked at the launch."""
    if rows.isdigit() and int(rows) % target.dot_rows:
        raise Decline("TLX401", span, tile=f"of {rows} rows")
    if depth.isdigit() and int(depth) < target.dot_depth:
        raise Decline("TLX401", span, tile=f"with a depth of {depth}")


def _condition(facts: Facts, branch: Span) -> str:
    return next((name for span, name in facts.conditions if span == branch), "a condition")
