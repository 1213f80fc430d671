"""Loads, stores and atomics: each is recorded with the address, mask and scope it saw."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ...poly import Poly, Symbol
from ...source import Span
from ..boxes import Box
from ..events import LoadEvent, StoreEvent
from ..values import Origin, Spread, Value, scalars
from . import boxes
from .registry import Call, handles

if TYPE_CHECKING:
    from ..interpret import Interpreter


@handles("load")
def load(run: Interpreter, call: Call) -> Value:
    """A scalar of its own, or data that remembers its load."""
    address_node, mask_node, other_node = call.need(0, "pointer"), call.get(1, "mask"), call.get(2, "other")
    place, number = run.place(call.node), None
    target = run.named[1] if run.named is not None and run.named[0] is call.node else None
    address = run.expression(address_node)
    if address.box is not None or "boundary_check" in call.keywords:
        return boxes.load_block(run, call, address)
    mask = run.expression(mask_node) if mask_node is not None else None
    other = run.expression(other_node) if other_node is not None else None
    if not address.axes and (mask is None or not mask.axes):
        number = len(run.events.loads)
        loaded = Symbol(f"load@{run.site(call.span)}")
        run.events.loads.append(LoadEvent(place, number, target, address, mask, other, (), loaded))
        return Value(poly=Poly.of(loaded), loads=frozenset({number}))
    axes = run.axes.broadcast(address.axes, *(value.axes for value in (mask, other) if value is not None))
    number = len(run.events.loads)
    loaded = Symbol(f"load@{run.site(call.span)}")
    event = LoadEvent(place, number, target, address.at(axes), mask, other, scalars(run.scope), loaded)
    event = replace(event, mask_node=mask_node, other_node=other_node, arguments=(address_node, mask_node))
    run.events.loads.append(replace(event, volatile=_volatile(call)))
    spread = Spread(Poly.of(loaded), (), ((loaded, Value(axes=axes).varies),))
    return Value(axes=axes, origin=Origin("load", number), loads=address.loads | {number}, spread=spread)


def record_unknown(run: Interpreter, call: Call, address: Value) -> Value:
    """Data from an address that is not understood."""
    target = run.named[1] if run.named is not None and run.named[0] is call.node else None
    number = len(run.events.loads)
    run.events.loads.append(LoadEvent(run.place(call.node), number, target, address, None, None, scalars(run.scope)))
    return Value(axes=address.axes, origin=Origin("load", number), loads=address.loads | {number})


def record_load(
    run: Interpreter, call: Call, box: Box, checked: Collection[int], other: Value | None, loads: frozenset[int]
) -> Value:
    """Data of a block of a block pointer or a descriptor."""
    target = run.named[1] if run.named is not None and run.named[0] is call.node else None
    number, address = len(run.events.loads), replace(box.address, loads=loads)
    event = LoadEvent(run.place(call.node), number, target, address, box.mask(checked), other, scalars(run.scope))
    box_event = replace(event, box=box, checked=tuple(checked), call=call.node, volatile=_volatile(call))
    run.events.loads.append(box_event)
    return Value(axes=box.axes, origin=Origin("load", number), loads=loads | {number})


def _volatile(call: Call) -> bool:
    """Whether a load asks for memory as it is at this moment; what is not a literal may ask so."""
    flag = call.get(7, "volatile")
    return flag is not None and not (isinstance(flag, ast.Constant) and not flag.value)


@handles(
    *("store", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"),
    *("atomic_xchg", "atomic_cas"),
)
def store(run: Interpreter, call: Call) -> Value:
    """A store or an atomic."""
    # What is exchanged stands behind what it is compared with, where the others have their mask.
    compared = call.name == "atomic_cas"
    address_node = call.need(0, "pointer")
    value_node = call.need(2 if compared else 1, "value" if call.name == "store" else "val")
    address = run.expression(address_node)
    value = run.events.used(run.expression(value_node), call.span)
    if address.box is not None or "boundary_check" in call.keywords:
        return boxes.store_block(run, call, address, value, value_node)
    mask_node = call.need(1, "cmp") if compared else call.get(2, "mask")
    mask = run.expression(mask_node) if mask_node is not None else None
    mask = None if compared else mask
    axes = run.axes.broadcast(address.axes, value.axes, mask.axes if mask is not None else ())
    stored = value.at(axes) if value.axes else value
    run.events.stores.append(
        StoreEvent(run.place(call.node), call.name, address.at(axes), stored, Span.of(value_node), mask)
    )
    return Value(axes=axes)
