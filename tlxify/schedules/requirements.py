"""What a kernel must look like for a producer/consumer schedule, each requirement with the refusal it ends in.

Every check is a proof obligation of `conversion.md`'s kind: what is not understood is declined where it stands.
"""

from __future__ import annotations

from ..diagnostics import Decline
from ..facts import Access, Dot, DotOperand, Facts, Load, LoopFact, Operand, every
from ..source import Span
from ..targets import Target


def dot_loop(facts: Facts) -> LoopFact:
    """The one loop that holds every dot. Raises Decline TLX30x, TLX314."""
    if not facts.dots:
        raise Decline("TLX301", None, name=facts.kernel)
    for dot in facts.dots:
        if dot.helpers:
            raise Decline("TLX104", dot.statement, what=f"a dot inside the helper `{dot.helpers[0]}`")
        if not dot.loops:
            raise Decline("TLX302", dot.span)
        _in_every_trip(facts, dot)
    first = facts.dots[0]
    for dot in facts.dots[1:]:
        if dot.loops != first.loops:
            raise Decline("TLX303", dot.span, line=first.span.line)
    loop = next(loop for loop in facts.loops if loop.span == first.loops[-1])
    if loop.kind == "while":
        raise Decline("TLX314", loop.span)
    if loop.kind == "static_range":
        raise Decline("TLX104", loop.span, what="a dot in `tl.static_range`")
    return loop


def _in_every_trip(facts: Facts, event: Dot | Load) -> None:
    """A slot is filled and freed once in every trip. Conditions around the whole loop are repeated in every role."""
    for arm in (*event.branches, *event.arms):
        if event.loops and event.loops[-1].contains(arm):
            raise Decline("TLX304", event.span, condition=_condition(facts, arm))


def effects(facts: Facts, loop: LoopFact) -> None:
    """No side effect that a role would repeat, drop or reorder.

    Raises Decline TLX104, TLX306, TLX308, TLX311, TLX312, TLX314.
    """
    for span in facts.returns:
        raise Decline("TLX306", span, why="in a loop, or with a value")
    for span, what in facts.effects:
        raise Decline("TLX312", span, name=what)
    for other in facts.loops:
        if other.kind == "while":
            raise Decline("TLX314", other.span)
    for store in facts.stores:
        if store.kind != "store":
            raise Decline("TLX308", store.span, name=f"tl.{store.kind}")
        if store.helpers:
            raise Decline("TLX104", store.statement, what=f"a store inside the helper `{store.helpers[0]}`")
        if loop.span in store.loops:
            raise Decline("TLX311", store.span)


def operand(facts: Facts, dot: Dot, side: DotOperand) -> tuple[Load, Access]:
    """The load behind an operand that shared memory can hand to the dot as it is.

    Raises Decline TLX2xx, TLX104, TLX304, TLX305, TLX309, TLX313.
    """
    if dict(dot.options).get("input_precision", "").strip("'\"") == "ieee":
        raise Decline("TLX309", dot.span)
    if side.how is Operand.COMPUTED or side.load is None:
        for number in sorted(side.loads):
            problem = facts.problem(facts.loads[number].span)
            if problem is not None and facts.loads[number].axes:
                raise Decline(problem.code, problem.span, **dict(problem.facts))
        raise Decline("TLX305", side.span, name=side.text)
    load = facts.loads[side.load]
    problem = facts.problem(load.span)
    if problem is not None:
        raise Decline(problem.code, problem.span, **dict(problem.facts))
    access = facts.access(load.span)
    if access is None:
        raise Decline("TLX201", load.span, name=load.pointer or side.text)
    if load.helpers:
        raise Decline("TLX104", load.statement, what=f"an operand loaded inside the helper `{load.helpers[0]}`")
    if load.loops != dot.loops:
        raise Decline("TLX305", side.span, name=side.text, why="it is loaded outside the loop")
    _in_every_trip(facts, load)
    if load.other_use is not None:
        raise Decline("TLX313", load.other_use, name=load.target or side.text)
    return load, access


def accumulators(facts: Facts, loop: LoopFact) -> None:
    """Each dot adds to one name that nothing else in the loop touches. Raises Decline TLX310."""
    seen: set[str] = set()
    for dot in facts.dots:
        if dot.accumulator is None or dot.accumulator in seen:
            raise Decline(
                "TLX310",
                dot.span,
                name=dot.accumulator or "the result of the dot",
                why="it does not accumulate into one name",
            )
        seen.add(dot.accumulator)
        out_dtype = dict(dot.options).get("out_dtype", "float32")
        if not out_dtype.endswith("float32"):
            raise Decline("TLX310", dot.span, name=dot.accumulator, why=f"it accumulates in `{out_dtype}`")
        inside = (s for s in every(facts.statements) if s.span != loop.span and loop.span.contains(s.span))
        for statement in inside:
            if statement.span != dot.statement and dot.accumulator in statement.binds | statement.reads:
                raise Decline("TLX310", statement.span, name=dot.accumulator)


def rows_are_independent(facts: Facts, access: Access, load: Load) -> bool:
    """Whether a wrapped axis occurs.

    Raises Decline TLX206 unless its wrapped positions can only reach masked-out results.
    """
    wrapped = False
    for dimension in access.dimensions:
        if not dimension.wrapped or dimension.axis is None or dimension.extent is None:
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
