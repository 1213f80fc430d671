"""Abstract interpretation of loops.

A body is interpreted twice: first with a placeholder for each name it rebinds, to find the names that step by an
invariant amount, then with `entry + trip × step` in their place. Only the second time counts for what is recorded.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..diagnostics import Decline
from ..facts import LoopFact
from ..poly import Poly, Symbol
from ..source import Span
from .values import MISSING, Scope, Spread, Value, number

if TYPE_CHECKING:
    from .boxes import Box
    from .interpret import Interpreter

_PROGRAM = ("tl.program_id(", "tl.num_programs(")


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Start, stop and step of a loop, as values and as the user wrote them."""

    kind: Literal["range", "static_range"]
    values: tuple[Value, Value, Value]
    text: tuple[str, str, str]


def for_loop(run: Interpreter, statement: ast.For) -> None:
    """Interprets a counted loop. Raises Decline TLX104 for other iterables and for an `else`."""
    span = Span.of(statement)
    trip = Symbol(f"trip@{run.site(span)}", trip=True)
    bounds = _bounds(run, statement.iter)
    start, stop, step = (value.poly for value in bounds.values)
    if not isinstance(statement.target, ast.Name):
        raise Decline("TLX104", Span.of(statement.target), what="a loop over several names")
    variable = statement.target.id
    fact = LoopFact(span, bounds.kind, variable, start, stop, step, trip, bounds.text)
    counter = Value(poly=Poly.of(Symbol(f"{variable}@{run.site(span)}")))
    if start is not None and step is not None:
        counter = number(start + step * Poly.of(trip))
    _repeat(run, statement.body, fact, {variable: counter})
    if statement.orelse:
        raise Decline("TLX104", Span.of(statement.orelse[0]), what="`else` of a loop")


def while_loop(run: Interpreter, statement: ast.While) -> None:
    """Interprets a loop whose trips nothing counts."""
    span = Span.of(statement)
    trip = Symbol(f"trip@{run.site(span)}", trip=True)
    run.expression(statement.test)
    _repeat(run, statement.body, LoopFact(span, "while", None, None, None, None, trip), {})


def _bounds(run: Interpreter, node: ast.expr) -> _Bounds:
    """Start, stop and step of `range`, `tl.range` or `tl.static_range`."""
    name = run.module.names.canonical(node.func) if isinstance(node, ast.Call) else None
    ranges = ("range", "triton.language.range", "triton.language.static_range")
    if not isinstance(node, ast.Call) or name not in ranges:
        raise Decline("TLX104", Span.of(node), what="a loop over something other than a range")
    parts = list(node.args)
    named = {k.arg: k.value for k in node.keywords}
    if not parts and "arg2" not in named:
        raise Decline("TLX104", Span.of(node), what="a loop without an end")
    start = named.get("arg1") or (parts[0] if len(parts) > 1 else ast.copy_location(ast.Constant(0), node))
    stop = named.get("arg2") or parts[min(1, len(parts) - 1)]
    step = named.get("step") or (parts[2] if len(parts) > 2 else ast.copy_location(ast.Constant(1), node))
    return _Bounds(
        "static_range" if name.endswith("static_range") else "range",
        (run.expression(start), run.expression(stop), run.expression(step)),
        (ast.unparse(start), ast.unparse(stop), ast.unparse(step)),
    )


def _repeat(run: Interpreter, body: list[ast.stmt], fact: LoopFact, counters: Scope) -> None:
    rebound = sorted(_assigned(body) - set(counters))
    entry = run.scope
    known = {s for value in entry.values() if value.poly is not None for s in value.poly.symbols}
    known |= {s for value in entry.values() if value.spread is not None for s in value.spread.poly.symbols}
    placeholders = {name: _placeholder(run, name, entry[name], fact) for name in rebound if name in entry}
    mark = run.events.mark()
    run.loops = (*run.loops, fact.span)
    run.scope = {**entry, **placeholders, **counters}
    run.block(body)
    carried = {
        name: _carried(run, name, entry[name], before, run.scope.get(name, before), fact, known)
        for name, before in placeholders.items()
    }
    run.events.rollback(mark)
    run.events.loops.append(fact)
    run.scope = {**entry, **carried, **counters}
    run.block(body)
    run.loops = run.loops[:-1]
    changed = {*rebound, *counters}
    run.scope = {
        name: _after(run, name, value, entry, carried.get(name), fact, known) if name in changed else value
        for name, value in run.scope.items()
    }


def _placeholder(run: Interpreter, name: str, value: Value, fact: LoopFact) -> Value:
    if value.box is not None:
        unknown = (Poly.of(Symbol(f"{name}.{i}@{run.site(fact.span)}")) for i in range(len(value.box.offsets)))
        return replace(value, box=value.box.at(tuple(unknown)))
    if value.affine:
        return replace(value, poly=Poly.of(Symbol(f"{name}@{run.site(fact.span)}")), literal=MISSING)
    spread = _from(run, name, value, fact)
    return Value(axes=value.axes, loads=value.loads, why=value.why, element=value.element, spread=spread)


def _from(run: Interpreter, name: str, value: Value, fact: LoopFact) -> Spread | None:
    """How a block differs from position to position, from a place that is not known."""
    if value.spread is None:
        return None
    return replace(value.spread, poly=Poly.of(Symbol(f"{name}@{run.site(fact.span)}")))


def _carried(
    run: Interpreter, name: str, entry: Value, before: Value, after: Value, fact: LoopFact, known: set[Symbol]
) -> Value:
    """What a rebound name holds at the start of trip t."""
    loads = entry.loads | after.loads
    if entry.box is not None and before.box is not None:
        box = _moving(entry.box, before.box, after.box, fact, known)
        return replace(entry, box=box, loads=loads, why=None if box is not None else ("TLX203", name))
    if entry.poly is not None and before.poly is not None:
        if after.poly is not None and after.terms == before.terms:
            step = after.poly - before.poly
            if _fixed(step, known):
                return replace(entry, poly=entry.poly + step * Poly.of(fact.trip), literal=MISSING)
        if entry.scalar:
            return Value(poly=before.poly, loads=after.loads)
        return Value(axes=run.axes.broadcast(entry.axes, after.axes), loads=loads, why=("TLX203", name))
    if len(entry.axes) != len(after.axes):
        return Value(axes=entry.axes, loads=loads)
    # What a loop carries keeps its dtype.
    axes = run.axes.broadcast(entry.axes, after.axes)
    spread = _stepping(entry.spread, before.spread, after.spread, fact, known)
    return Value(axes=axes, loads=loads, why=entry.why, element=entry.element, spread=spread)


def _stepping(
    entry: Spread | None, before: Spread | None, after: Spread | None, fact: LoopFact, known: set[Symbol]
) -> Spread | None:
    """A block that moves by the same amount in every trip; None for any other."""
    if entry is None or before is None or after is None or after.terms != before.terms:
        return None
    step = after.poly - before.poly
    if after.blocks != before.blocks or not _fixed(step, known):
        return None
    return replace(entry, poly=entry.poly + step * Poly.of(fact.trip))


def _fixed(step: Poly, known: set[Symbol]) -> bool:
    """Whether a step is the same in every trip: which program this is, and of how many, no trip changes."""
    return all(s.launch or s in known or s.name.startswith(_PROGRAM) for s in step.symbols)


def _moving(entry: Box, before: Box, after: Box | None, fact: LoopFact, known: set[Symbol]) -> Box | None:
    """A block that advances by the same offsets in every trip; None for any other."""
    if after is None or after.at(()) != before.at(()):
        return None
    steps = [end - start for start, end in zip(before.offsets, after.offsets, strict=True)]
    if not all(_fixed(step, known) for step in steps):
        return None
    trip = Poly.of(fact.trip)
    return entry.at(tuple(start + step * trip for start, step in zip(entry.offsets, steps, strict=True)))


def _count(fact: LoopFact) -> Poly | None:
    """How many trips a loop makes, where that is as many as whole tiles fit into a size; None where it is not known.

    Other ends may lie before the start: then there is no trip, whatever their difference says. Sizes are not negative.
    """
    count = fact.count
    if count is None or not count.launch:
        return None
    of_size = count.template in ("({} // {})", "cdiv({}, {})") and all(o.monomial for o in count.operands)
    return Poly.of(count) if of_size and count.operands[1].constexpr else None


def _left_at(carried: Value, fact: LoopFact, trips: Poly) -> Value | None:
    """What steps by the same amount in every trip, after so many of them; None for anything else."""
    if carried.box is not None:
        return replace(
            carried, box=carried.box.at(tuple(o.substitute({fact.trip: trips}) for o in carried.box.offsets))
        )
    if carried.poly is None or fact.trip not in carried.poly.symbols:
        return None
    return replace(carried, poly=carried.poly.substitute({fact.trip: trips}))


def _after(
    run: Interpreter,
    name: str,
    value: Value,
    entry: Scope,
    carried: Value | None,
    fact: LoopFact,
    known: set[Symbol],
) -> Value:
    """What a rebound name holds behind the loop."""
    if name in entry and value == entry[name]:
        return value
    trips = _count(fact)
    if carried is not None and trips is not None and (left := _left_at(carried, fact, trips)) is not None:
        return left
    if name not in entry and not value.scalar and all(s.launch or s in known for s in value.symbols):
        return replace(value, unsure=True)  # every trip made the same, if there was one
    if value.bounds is not None:
        return replace(value, bounds=None, why=("TLX204", "a condition left behind by a loop"))
    if value.box is not None:
        return replace(value, box=None, why=("TLX203", name))
    if value.poly is None:
        # What a loop carries keeps its dtype.
        element = entry[name].element if name in entry and value.element is None else value.element
        return replace(value, spread=None, element=element)
    if value.scalar:
        return Value(poly=Poly.of(Symbol(f"{name}@after {run.site(fact.span)}")), loads=value.loads)
    # What has moved by the same step in every trip lies somewhere that nobody can tell all the same.
    moved = carried is not None and carried.poly is not None and fact.trip in carried.poly.symbols
    where = ("TLX201", f"how many trips have moved `{name}` before it is not known")
    return Value(axes=value.axes, loads=value.loads, why=where if moved else ("TLX203", name))


def _assigned(body: list[ast.stmt]) -> set[str]:
    """Names that statements bind, also inside their bodies."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
