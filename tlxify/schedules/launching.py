"""What must hold at a launch for the converted kernel to take it."""

from __future__ import annotations

from collections.abc import Collection

from ..diagnostics import Decline
from ..facts import Facts
from ..plan import DotStep, LaunchGuard, Ring, Stored
from ..source import Span
from ..targets import Target
from .writing import claims, write_for_guard


def launch_guard(
    facts: Facts, target: Target, rings: tuple[Ring, ...], dots: tuple[DotStep, ...], producer: frozenset[Span]
) -> LaunchGuard:
    """The views of all operands, the operands of one dtype, and the memory that must not overlap what is read ahead.

    `producer` are the statements that the producer keeps: it reads their scalars itself.

    Raises Decline TLX2xx for a store to memory that no parameter names.
    """
    buffers = [buffer for ring in rings for buffer in ring.buffers]
    parameter = {buffer.name: buffer.view.parameter for buffer in buffers}
    sides = ([side.buffer for side in (dot.a, dot.b) if side.buffer is not None] for dot in dots)
    groups = (tuple(dict.fromkeys(parameter[name] for name in names)) for names in sides)
    views = tuple(buffer.view for buffer in buffers)
    fed = {fill.load for ring in rings for site in ring.sites for fill in site.fills}
    read = [load.pointer for load in facts.loads if load.statement in producer and load.span not in fed]
    scalars = tuple(dict.fromkeys(name for name in read if name is not None))
    groups_of_one_dtype = tuple(dict.fromkeys(groups))
    return LaunchGuard(views, groups_of_one_dtype, target.dot_dtypes, _stored(facts), scalars, _claims(facts, fed))


def _claims(facts: Facts, fed: Collection[Span]) -> tuple[tuple[str, str], ...]:
    """What was assumed of parameters, and what arms that mask nothing rely on."""
    found: dict[str, str] = {}
    for name, value in facts.assumed:
        found[name if value else f"not {name}"] = f"converted for launches {'with' if value else 'without'} {name}"
    for access in filter(None, map(facts.access, sorted(fed))):
        for text in claims(facts, access) or ():
            found[text] = f"an arm of {facts.kernel} does not mask {access.pointer}"
    return tuple(found.items())


def _stored(facts: Facts) -> tuple[Stored, ...]:
    stored: dict[Stored, None] = {}
    for store in facts.stores:
        access = facts.access(store.span)
        dimensions = access.dimensions if access is not None else ()
        extents = [write_for_guard(d.extent) if d.extent is not None else None for d in dimensions]
        strides = [text for d in dimensions if (text := write_for_guard(d.stride)) is not None]
        if access is not None and len(strides) == len(extents):
            stored[Stored(access.pointer, tuple(extents), tuple(strides))] = None
        elif store.pointer is not None:
            # How far it reaches is not known: as far as the tensor's storage.
            stored[Stored(store.pointer, (None,), ("1",))] = None
        else:
            problem = facts.problem(store.span)
            if problem is not None:
                raise Decline(problem.code, problem.span, **dict(problem.facts))
            raise Decline("TLX201", store.span, name="the tile", why="what it is relative to is not known")
    return tuple(stored)
