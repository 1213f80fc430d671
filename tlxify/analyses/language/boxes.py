"""Block pointers and tensor descriptors: made, moved, loaded and stored."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ...diagnostics import Decline
from ...facts import Creator
from ...poly import ONE, Poly
from ...source import Span
from ..boxes import Box
from ..events import StoreEvent
from ..values import Value, literal, scalars
from . import memory
from .registry import Call, handles
from .shapes import created

if TYPE_CHECKING:
    from ..interpret import Interpreter

_NAN = literal(float("nan"))


@handles("make_block_ptr")
def make_block_ptr(run: Interpreter, call: Call) -> Value:
    """A block of a strided tensor. `order` is a hint and says nothing. Raises Decline TLX104, TLX403."""
    return _made(run, call, ("base", "shape", "strides", "block_shape"), (0, 1, 2, 4), call.need(3, "offsets"))


@handles("make_tensor_descriptor", "_experimental_make_tensor_descriptor")
def make_tensor_descriptor(run: Interpreter, call: Call) -> Value:
    """A strided tensor that is read in blocks. Raises Decline TLX104, TLX403."""
    return _made(run, call, ("base", "shape", "strides", "block_shape"), (0, 1, 2, 3), None)


def _made(
    run: Interpreter, call: Call, names: tuple[str, ...], places: tuple[int, ...], offsets: ast.expr | None
) -> Value:
    base_node, shape, strides, block = (call.need(*where) for where in zip(places, names, strict=True))
    base = run.expression(base_node)
    if base.poly is None or not base.scalar:
        raise Decline("TLX201", call.span, name=ast.unparse(base_node), why=base.why[1] if base.why else "")
    padding = call.get(4, "padding_option") if offsets is None else None
    box = Box(
        base.poly,
        numbers(run, shape),
        numbers(run, strides),
        numbers(run, offsets) if offsets is not None else (),
        tuple(_axis(run, entry, boxed=offsets is None) for entry in _entries(block)),
        descriptor=offsets is None,
        nan=padding is not None and run.expression(padding).literal == "nan",
    )
    if not len(box.shape) == len(box.strides) == len(box.axes) or len(box.offsets) not in (0, len(box.axes)):
        raise Decline("TLX104", call.span, what="a block whose shape, strides and lengths differ in rank")
    return Value(axes=box.axes, box=box, loads=base.loads)


@handles("advance")
def advance(run: Interpreter, call: Call) -> Value:
    """The block pointer moved by an offset per axis."""
    value = run.expression(call.need(0, "base"))
    if value.box is None:
        return _unknown(value, call)
    steps = numbers(run, call.need(1, "offsets"))
    moved = tuple(offset + step for offset, step in zip(value.box.offsets, steps, strict=True))
    return replace(value, box=value.box.at(moved))


def load_block(run: Interpreter, call: Call, pointer: Value) -> Value:
    """`tl.load` of a block pointer: out-of-bounds elements of the checked axes are filled."""
    if pointer.box is None:
        return memory.record_unknown(run, call, _unknown(pointer, call))
    check = call.get(3, "boundary_check")
    checked = _checked(run, check, len(pointer.axes))
    padding = call.get(4, "padding_option")
    nan = checked and padding is not None and run.expression(padding).literal == "nan"
    return memory.record_load(run, call, pointer.box, checked, _NAN if nan else None, pointer.loads)


def store_block(run: Interpreter, call: Call, pointer: Value, value: Value, value_node: ast.expr) -> Value:
    """`tl.store` through a block pointer: only what lies inside along the checked axes is written."""
    if pointer.box is None:
        place, address = run.place(call.node), _unknown(pointer, call)
        run.events.stores.append(StoreEvent(place, "store", address, value, Span.of(value_node), None))
        return Value(axes=address.axes)
    checked = _checked(run, call.get(3, "boundary_check"), len(pointer.axes))
    return _record_store(run, call, pointer.box, checked, value, value_node)


def load_descriptor(run: Interpreter, call: Call) -> Value:
    """`desc.load(offsets)`: everything outside the tensor reads as zero."""
    value = run.expression(call.need(0, "desc"))
    box = _at(run, call, value, call.need(1, "offsets"))
    return memory.record_load(run, call, box, range(len(box.axes)), _NAN if box.nan else None, value.loads)


def store_descriptor(run: Interpreter, call: Call) -> Value:
    """`desc.store(offsets, value)`, or an atomic: what lies outside the tensor is dropped."""
    descriptor = run.expression(call.need(0, "desc"))
    box = _at(run, call, descriptor, call.need(1, "offsets"))
    node = call.need(2, "value")
    value = run.events.used(run.expression(node), call.span)
    kind = call.name if call.name.startswith("atomic_") else "store"
    return _record_store(run, call, box, range(len(box.axes)), value, node, kind)


def _at(run: Interpreter, call: Call, descriptor: Value, offsets: ast.expr) -> Box:
    """The block of a descriptor at some offsets. Raises Decline TLX210 for one that comes from nobody knows where."""
    where = numbers(run, offsets)
    called = ast.unparse(call.positional[0])
    box = descriptor.box or run.descriptors.box(run, descriptor, len(where), called, call.span)
    if len(where) != len(box.axes):
        raise Decline("TLX104", call.span, what="a block whose offsets differ in rank from its tensor")
    return box.at(where)


def _record_store(
    run: Interpreter,
    call: Call,
    box: Box,
    checked: Collection[int],
    value: Value,
    value_node: ast.expr,
    kind: str = "store",
) -> Value:
    axes = run.axes.broadcast(box.axes, value.axes)
    stored = value.at(axes) if value.axes else value
    place = run.place(call.node)
    event = StoreEvent(
        place,
        kind,
        box.address,
        stored,
        Span.of(value_node),
        box.mask(checked),
        box,
        tuple(checked),
        call.node,
        scalars(run.scope),
    )
    run.events.stores.append(event)
    return Value(axes=axes)


def _checked(run: Interpreter, node: ast.expr | None, rank: int) -> tuple[int, ...]:
    """The axes that `boundary_check` names, from the first. Raises Decline TLX104 for others than literals."""
    if node is None:
        return ()
    value = run.expression(node)
    found = [item.literal for item in value.items or (value,)]
    known = [axis % rank for axis in found if isinstance(axis, int)]
    if len(known) != len(found):
        raise Decline("TLX104", Span.of(node), what="a `boundary_check` that is not literal")
    return tuple(sorted(known))


def numbers(run: Interpreter, node: ast.expr) -> tuple[Poly, ...]:
    """The integers of a tuple or list. Raises Decline TLX104 for anything else in it."""
    value = run.expression(node)
    polys = [item.poly for item in value.items or (value,)]
    known = tuple(poly for poly in polys if poly is not None)
    if len(known) != len(polys):
        raise Decline("TLX104", Span.of(node), what=f"`{ast.unparse(node)}` as integers of a block")
    return known


def _entries(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple | ast.List) else [node]


def _axis(run: Interpreter, entry: ast.expr, *, boxed: bool) -> int | None:
    length = run.expression(entry).poly
    if length is None:
        raise Decline("TLX403", Span.of(entry), name=ast.unparse(entry))
    if length == ONE:
        return None
    axis = created(run, length, Creator("block", Span.of(entry), run.statement))
    if boxed:
        # Rows are divided by rewriting what creates them: no access through a descriptor may be left then.
        run.axes.mark(axis, "boxed")
    return axis


def _unknown(pointer: Value, call: Call) -> Value:
    """A block pointer that was lost sight of. Raises Decline TLX209 for what never was one."""
    if not pointer.axes or pointer.affine:
        raise Decline("TLX209", call.span, name=ast.unparse(call.positional[0]), why="what makes it one is not seen")
    return pointer.data(pointer.axes)
