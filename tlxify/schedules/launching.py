"""What must hold at a launch for the converted kernel to take it."""

from __future__ import annotations

from ..facts import Facts
from ..plan import LaunchGuard, Ring, Stored
from ..targets import Target
from .writing import write_for_guard


def launch_guard(facts: Facts, target: Target, ring: Ring) -> LaunchGuard:
    """The views of all operands, the operands of one dtype, and the memory that must not overlap them."""
    parameter = {buffer.name: buffer.view.parameter for buffer in ring.buffers}
    groups = (tuple(dict.fromkeys((parameter[dot.a], parameter[dot.b]))) for dot in ring.dots)
    views = tuple(buffer.view for buffer in ring.buffers)
    return LaunchGuard(views, tuple(dict.fromkeys(groups)), target.dot_dtypes, _stored(facts))


def _stored(facts: Facts) -> tuple[Stored, ...]:
    stored: dict[Stored, None] = {}
    for store in facts.stores:
        access = facts.access(store.span)
        if access is None:
            continue
        extents = [write_for_guard(d.extent) if d.extent is not None else None for d in access.dimensions]
        strides = [text for d in access.dimensions if (text := write_for_guard(d.stride)) is not None]
        if len(strides) == len(extents):
            stored[Stored(access.pointer, tuple(extents), tuple(strides))] = None
    return tuple(stored)
