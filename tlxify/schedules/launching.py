"""What must hold at a launch for the converted kernel to take it."""

from __future__ import annotations

from collections.abc import Iterable

from ..diagnostics import Decline
from ..facts import Facts, Load
from ..plan import DotStep, LaunchGuard, Ring, Stored, fills_of
from ..poly import ONE
from ..targets import Target
from .operands import operands_of
from .starts import starts_of
from .writing import write_for_guard

#: Why a descriptor of the caller's cannot be followed.
UNSAID = "no launch and no hook here says how long its blocks are"


def launch_guard(
    facts: Facts,
    target: Target,
    rings: tuple[Ring, ...],
    dots: tuple[DotStep, ...],
    early: Iterable[Load],
    claims: tuple[str, ...] = (),
) -> LaunchGuard:
    """The views of all operands, the operands of one dtype, and the memory that must not overlap what is read ahead.

    `early` are the loads of roles that run ahead of the stores: the producer reads its scalars itself. `claims` are
    conditions over parameters that the plan relies on.

    Raises Decline TLX2xx for a store to memory that no parameter names, TLX212 for a tile that the TMA cannot start at.
    """
    buffers = [buffer for ring in rings for buffer in ring.buffers]
    groups = tuple(dict.fromkeys(operands_of(facts, target, buffers, dot) for dot in dots))
    views = tuple(buffer.view for buffer in buffers)
    fed = {fill.load for _, _, fill in fills_of(rings)}
    read = [load.pointer for load in early if load.span not in fed]
    scalars = tuple(dict.fromkeys(name for name in read if name is not None))
    boxed = [(ring, fill) for ring, _, fill in fills_of(rings) if fill.copy is None]
    loads = [(fill.load, ring.buffer(fill.buffer).view) for ring, fill in boxed]
    return LaunchGuard(views, groups, stored_by(facts), scalars, claims, blocks_of(facts), starts_of(facts, loads))


def assumed(facts: Facts) -> tuple[str, ...]:
    """That parameters have the values that the facts hold for, as plain Python."""
    return tuple(_holding(name, value) for name, value in facts.assumed)


def _holding(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    return f"{name} == {value!r}"


def blocks_of(facts: Facts) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What the blocks of the caller's descriptors must be like. Raises Decline TLX210 where that is not known."""
    found = []
    for descriptor in facts.hosted:
        lengths = []
        for axis in descriptor.axes:
            length = facts.axis(axis).length if axis is not None else ONE
            if not length.constexpr:
                span = next((load.span for load in facts.loads if load.pointer == descriptor.name), None)
                span = span or next((store.span for store in facts.stores if store.pointer == descriptor.name), None)
                raise Decline("TLX210", span, name=descriptor.name, why=UNSAID)
            lengths.append(length.text())
        found.append((descriptor.name, tuple(lengths)))
    return tuple(found)


def stored_by(facts: Facts) -> tuple[Stored, ...]:
    """The memory that the kernel writes. Raises Decline TLX2xx for memory that no parameter names."""
    stored: dict[Stored, None] = {}
    for store in facts.stores:
        access = facts.access(store.span)
        dimensions = access.dimensions if access is not None else ()
        extents = [write_for_guard(d.extent) if d.extent is not None else None for d in dimensions]
        strides = [text for d in dimensions if (text := write_for_guard(d.stride)) is not None]
        divided = any(d.divisor is not None for d in dimensions)
        if access is not None and len(strides) == len(extents) and not divided:
            stored[Stored(access.pointer, tuple(extents), tuple(strides))] = None
        elif store.pointer is not None:
            # How far it reaches is not known: as far as the tensor's storage.
            stored[Stored(store.pointer, (None,), ("1",))] = None
        else:
            problem = facts.problem(store.span)
            if problem is not None:
                raise Decline.of(problem)
            raise Decline("TLX201", store.span, name="the tile", why="what it is relative to is not known")
    return tuple(stored)
