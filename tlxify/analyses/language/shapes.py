"""Functions that create axes or move them around: ranges, filled blocks, transpositions, reshapes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...diagnostics import Decline
from ...facts import Creator
from ...poly import ONE, ZERO, Poly
from ...source import Span
from ..axes import Axes
from ..values import COMPUTED, Origin, Term, Value, literal
from .registry import LANGUAGE, Call, handles

if TYPE_CHECKING:
    from ..interpret import Interpreter


@handles("arange")
def arange(run: Interpreter, call: Call) -> Value:
    """A new axis, and the position along it; of length one it is no axis. Raises Decline TLX104, TLX403."""
    start, stop = call.get(0, "start"), call.get(1, "end")
    if start is None or stop is None:
        raise Decline("TLX104", call.span, what="`tl.arange` without a start and an end")
    first, last = run.expression(start), run.expression(stop)
    if first.poly is None or last.poly is None:
        raise Decline("TLX403", Span.of(stop), name=ast.unparse(stop))
    if last.poly - first.poly == ONE:
        return Value(axes=(None,), poly=first.poly)
    # Rows are divided by rewriting what creates them; a range that starts elsewhere is left whole.
    creator = Creator("arange", call.span, run.statement) if first.poly == ZERO else None
    axis = created(run, last.poly - first.poly, creator)
    return Value(axes=(axis,), poly=first.poly, terms=(Term(0, ONE),))


@handles("zeros", "full")
def filled(run: Interpreter, call: Call) -> Value:
    """A block of one value. Raises Decline TLX104 without a shape, TLX403 for a length that is no scalar integer."""
    value = call.get(1, "value") if call.name == "full" else None
    zero = value is None or run.expression(value).literal in (0, 0.0)
    axes = _shape(run, call.get(0, "shape"), call.span)
    element = _dtype(run, call.get(1 if call.name == "zeros" else 2, "dtype"))
    return Value(axes=axes, origin=Origin("fill") if zero else COMPUTED, element=element)


def _dtype(run: Interpreter, node: ast.expr | None) -> str | None:
    """The dtype that is written there, if it is one of Triton's."""
    try:
        reference = run.expression(node).reference if node is not None else None
    except Decline:
        return None  # how a dtype is found out is not in the way of anything else
    return reference.removeprefix(LANGUAGE) if reference is not None and reference.startswith(LANGUAGE) else None


@handles("zeros_like")
def filled_like(run: Interpreter, call: Call) -> Value:
    """A block of zeros with the axes of another."""
    return Value(axes=run.expression(call.need(0, "input")).axes, origin=Origin("fill"))


@handles("expand_dims")
def expand_dims(run: Interpreter, call: Call) -> Value:
    """An axis of length one more."""
    value = run.expression(call.need(0, "input"))
    position = _integer(run, call.get(1, "axis"), call.span)
    return value.with_axis(position if position >= 0 else len(value.axes) + 1 + position)


@handles("broadcast_to")
def broadcast_to(run: Interpreter, call: Call) -> Value:
    """The value with the axes of a shape."""
    value = run.expression(call.need(0, "input"))
    return value.at(run.axes.broadcast(value.axes, _shape(run, _shape_argument(call), call.span)))


@handles("broadcast")
def broadcast(run: Interpreter, call: Call) -> Value:
    """Two values with common axes."""
    first, second = run.expression(call.need(0, "input")), run.expression(call.need(1, "other"))
    axes = run.axes.broadcast(first.axes, second.axes)
    return Value(items=(first.at(axes), second.at(axes)))


@handles("trans", "permute")
def trans(run: Interpreter, call: Call) -> Value:
    """A transposition. Raises Decline TLX104 where the order is not literal."""
    value = run.expression(call.need(0, "input"))
    order = [
        e for item in call.positional[1:] for e in (item.elts if isinstance(item, ast.Tuple | ast.List) else [item])
    ]
    if len(value.axes) == 2 and order and [_integer(run, item, call.span) for item in order] == [0, 1]:
        return value
    return transposed(run, value, call.span)


def transposed(run: Interpreter, value: Value, span: Span) -> Value:
    """A two-dimensional value with its axes swapped; of any other, nothing more is known of the axes."""
    if len(value.axes) != 2:
        return opaque(run, value, span)
    first, second = value.axes
    swapped = value.moved((second, first), {0: 1, 1: 0})
    return replace(swapped, origin=replace(value.origin, transposed=not value.origin.transposed))


@handles("reshape", "view")
def reshape(run: Interpreter, call: Call) -> Value:
    """New axes without a relation to the old ones, unless only axes of length one come or go."""
    node = call.need(0, "input")
    value = run.expression(node)
    if (same := _squeezed(run, value, _shape_argument(call))) is not None:
        _named(run, call, node, value)
        return same
    opaque(run, value, call.span)
    axes = _shape(run, _shape_argument(call), call.span)
    for axis in axes:
        run.axes.mark(axis, "opaque")
    return Value(axes=axes, loads=value.loads, why=("TLX201", "a reshaped block"))


@handles("split")
def split(run: Interpreter, call: Call) -> Value:
    """Two blocks without the last axis."""
    value = opaque(run, run.expression(call.need(0, "a")), call.span)
    half = Value(axes=value.axes[:-1], loads=value.loads, why=value.why)
    return Value(items=(half, half))


@handles("join")
def join(run: Interpreter, call: Call) -> Value:
    """Two blocks side by side along a new last axis of length two."""
    first, second = run.expression(call.need(0, "a")), run.expression(call.need(1, "b"))
    axes = run.axes.broadcast(opaque(run, first, call.span).axes, opaque(run, second, call.span).axes)
    return Value(axes=(*axes, _alone(run, Poly.of(2))), loads=first.loads | second.loads)


@handles("interleave", "cat")
def interleave(run: Interpreter, call: Call) -> Value:
    """Two blocks one after the other, or in turns, along the last axis."""
    first, second = run.expression(call.need(0, "a")), run.expression(call.need(1, "b"))
    axes = run.axes.broadcast(opaque(run, first, call.span).axes, opaque(run, second, call.span).axes)
    if not axes:
        raise Decline("TLX104", call.span, what=f"`tl.{call.name}` of scalars")
    last = ONE if axes[-1] is None else run.axes.length(axes[-1])
    return Value(axes=(*axes[:-1], _alone(run, last * Poly.of(2))), loads=first.loads | second.loads)


def _alone(run: Interpreter, length: Poly) -> int:
    """An axis without a relation to any other."""
    axis = created(run, length, None)
    run.axes.mark(axis, "opaque")
    return axis


def _named(run: Interpreter, call: Call, node: ast.expr, value: Value) -> None:
    """A name for a load that is squeezed at once: `k = desc.load([first, head, 0]).reshape(BLOCK_N, D)`."""
    number = value.origin.load
    if run.named is None or run.named[0] is not call.node or number is None or value.origin.transposed:
        return
    event = run.events.loads[number]
    if event.place.span == Span.of(node):
        run.events.loads[number] = replace(event, target=run.named[1])


def _squeezed(run: Interpreter, value: Value, shape: ast.expr | None) -> Value | None:
    """The value with axes of length one added or dropped, if the shape asks for no more."""
    if shape is None:
        return None
    entries = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
    lengths = [run.expression(entry).poly for entry in entries]
    kept = [dim for dim in reversed(range(len(value.axes))) if value.axis(dim) is not None]
    wanted = [len(lengths) - 1 - i for i, length in enumerate(lengths) if length != ONE]
    held = [run.axes.length(axis) for axis in value.axes if axis is not None]
    if [lengths[len(lengths) - 1 - dim] for dim in wanted] != held:
        return None
    axes: list[int | None] = [None] * len(lengths)
    for old, new in zip(kept, wanted, strict=True):
        axis, place = value.axis(old), len(lengths) - 1 - new
        assert axis is not None
        # The length is written here anew: it has to change with the axis.
        entry = Creator("shape", Span.of(entries[place]), run.statement)
        axes[place] = run.axes.union(axis, created(run, run.axes.length(axis), entry))
    return value.moved(tuple(axes), dict(zip(kept, wanted, strict=True)))


def opaque(run: Interpreter, value: Value, span: Span) -> Value:
    """Data of the same shape made by something that may mix positions."""
    for axis in run.events.used(value, span).axes:
        run.axes.mark(axis, "opaque")
    return Value(axes=value.axes, loads=value.loads, why=value.why)


def created(run: Interpreter, length: Poly, creator: Creator | None) -> int:
    """An axis made here. Without a creator, or in a helper, there is no place where its length could be rewritten."""
    known = creator if not run.helpers else None
    axis = run.axes.create(length, known)
    if known is None:
        run.axes.mark(axis, "fixed")
    return axis


def _shape(run: Interpreter, node: ast.expr | None, span: Span) -> Axes:
    """The axes that a shape creates."""
    if node is None:
        raise Decline("TLX104", span, what="a block without a shape")
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return run.expression(node.value).axes  # as long as that block, so along its axes
    axes: list[int | None] = []
    for entry in node.elts if isinstance(node, ast.Tuple | ast.List) else [node]:
        length = run.expression(entry).poly
        if length is None:
            raise Decline("TLX403", Span.of(entry), name=ast.unparse(entry))
        creator = Creator("shape", Span.of(entry), run.statement)
        axes.append(None if length == ONE else created(run, length, creator))
    return tuple(axes)


def _shape_argument(call: Call) -> ast.expr | None:
    """The shape, given as one tuple or as the rest of the arguments."""
    if len(call.positional) > 2:
        return ast.copy_location(ast.Tuple(list(call.positional[1:]), ast.Load()), call.node)
    return call.get(1, "shape")


def _integer(run: Interpreter, node: ast.expr | None, span: Span) -> int:
    value = run.expression(node) if node is not None else literal(0)
    if not isinstance(value.literal, int):
        raise Decline("TLX104", span, what="an axis that is not a literal")
    return value.literal
