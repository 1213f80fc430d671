"""Loads, stores and atomics: each is recorded with the address, mask and scope it saw."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...diagnostics import Decline
from ...poly import Poly, Symbol
from ...source import Span
from ..events import LoadEvent, StoreEvent
from ..values import Origin, Value
from .registry import Call, handles

if TYPE_CHECKING:
    from ..interpret import Interpreter


@handles("load")
def load(run: Interpreter, call: Call) -> Value:
    """A scalar of its own, or data that remembers its load. Raises Decline TLX209 for a block pointer."""
    address_node, mask_node, other_node = call.need(0, "pointer"), call.get(1, "mask"), call.get(2, "other")
    place, number = run.place(call.node), None
    target = run.named[1] if run.named is not None and run.named[0] is call.node else None
    address = run.expression(address_node)
    mask = run.expression(mask_node) if mask_node is not None else None
    other = run.expression(other_node) if other_node is not None else None
    if not address.axes and (mask is None or not mask.axes):
        number = len(run.events.loads)
        loaded = Symbol(f"load@{run.site(call.span)}")
        run.events.loads.append(LoadEvent(place, number, target, address, mask, other, (), loaded))
        return Value(poly=Poly.of(loaded), loads=frozenset({number}))
    _no_block_pointer(call, address_node)
    axes = run.axes.broadcast(address.axes, *(value.axes for value in (mask, other) if value is not None))
    number = len(run.events.loads)
    run.events.loads.append(LoadEvent(place, number, target, address.at(axes), mask, other, _scalars(run)))
    return Value(axes=axes, origin=Origin("load", number), loads=address.loads | {number})


@handles(
    *("store", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"),
    *("atomic_xchg", "atomic_cas"),
)
def store(run: Interpreter, call: Call) -> Value:
    """A store or an atomic. Raises Decline TLX209 for a block pointer."""
    address_node, value_node = call.need(0, "pointer"), call.need(1, "value" if call.name == "store" else "val")
    address = run.expression(address_node)
    value = run.events.used(run.expression(value_node), call.span)
    mask_node = call.get(2, "mask")
    mask = run.expression(mask_node) if mask_node is not None else None
    _no_block_pointer(call, address_node)
    axes = run.axes.broadcast(address.axes, value.axes, mask.axes if mask is not None else ())
    stored = value.at(axes) if value.axes else value
    run.events.stores.append(
        StoreEvent(run.place(call.node), call.name, address.at(axes), stored, Span.of(value_node), mask)
    )
    return Value(axes=axes)


@handles("make_block_ptr", "make_tensor_descriptor")
def declined(run: Interpreter, call: Call) -> Value:
    """Raises Decline TLX209, TLX210: their bounds are no masks."""
    base = call.get(0, "base")
    code = "TLX209" if call.name == "make_block_ptr" else "TLX210"
    raise Decline(code, call.span, name=ast.unparse(base) if base is not None else "?")


def _no_block_pointer(call: Call, address: ast.expr) -> None:
    if "boundary_check" in call.keywords:
        raise Decline("TLX209", call.span, name=ast.unparse(address))


def _scalars(run: Interpreter) -> tuple[tuple[str, Poly], ...]:
    """The scalars in scope: what emitted coordinates may be written with."""
    return tuple(
        (name, value.poly)
        for name, value in run.scope.items()
        if value.scalar and value.poly is not None and value.items is None
    )
