"""The arguments of a specialized launch: all that can be is made once, the rest is filled in at each launch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlx.launch.guard import Fallback, TmaView
from tlx.launch.pointers import is_pointer
from tlx.launch.schedule import RingPlan, Schedule

__all__ = ["Guarded", "Prepared", "guarded", "prepare"]

#: Warps of the default task: the producer's.
PRODUCER_WARPS = 4
#: Programs along the first launch axis, and the largest index a kernel can compute in 32 bits.
GRID_LIMIT = 2**31 - 1
GRID_PREFIX = "GRID_"


@dataclass(frozen=True, slots=True)
class Guarded:
    """What a guard returned, sorted: descriptors to be built, pointers to be looked up at each launch, plain values."""

    views: Mapping[str, TmaView]
    #: Parameter of the converted kernel → parameter of the source whose tensor it is given.
    pointers: Mapping[str, str]
    values: Mapping[str, Any]

    def detached(self) -> Guarded:
        """The same without a hold on any tensor."""
        return Guarded({name: view.detached() for name, view in self.views.items()}, self.pointers, self.values)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A specialized launch, but for the tensors and the grid."""

    kernel: Any
    plan: RingPlan
    schedule: Schedule
    #: Positional arguments of the kernel with gaps where `live` and `grid_slots` point.
    template: list[Any]
    #: (slot, position among the source's positional arguments or -1, name in its keyword arguments).
    live: tuple[tuple[int, int, str], ...]
    grid_slots: tuple[tuple[int, int], ...]
    #: What the source's grid may read by name, but for its tensors, which `meta_live` names.
    meta: dict[str, Any]
    meta_live: tuple[tuple[str, int], ...]
    options: dict[str, Any] = field(default_factory=dict)

    def extents(self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, ...]:
        """The source's grid; a callable one is asked as Triton would ask it."""
        if callable(grid):
            meta = self.meta.copy()
            for name, position in self.meta_live:
                meta[name] = args[position] if position >= 0 else kwargs[name]
            grid = grid(meta)
        return tuple(grid)

    def fill(
        self, extents: tuple[int, ...], args: Sequence[Any], kwargs: Mapping[str, Any], processors: int
    ) -> tuple[tuple[int, ...], list[Any]]:
        """The launch grid, `()` if it is empty, and the kernel's positional arguments.

        Raises `Fallback` with code `grid-rank` (program ids the kernel was not written for) or `grid-range`.
        """
        values = self.template.copy()
        for slot, position, name in self.live:
            values[slot] = args[position] if position >= 0 else kwargs[name]
        tiles = math.prod(extents)
        if tiles <= 0:
            return (), values
        if not self.schedule.persistent:
            return extents, values
        rank = self.schedule.grid_rank
        if math.prod(extents[rank:]) != 1:
            raise Fallback("grid-rank", f"the grid {extents} has more than the {rank} axes of the plan")
        if tiles > GRID_LIMIT:
            raise Fallback("grid-range", f"the grid {extents} has more than {GRID_LIMIT} programs")
        for slot, axis in self.grid_slots:
            values[slot] = extents[axis] if axis < len(extents) else 1
        return (min(tiles, processors * self.plan.resident),), values


def guarded(returned: Mapping[str, Any], arguments: Mapping[str, Any]) -> Guarded:
    """Sort what a guard returned for a launch with `arguments`."""
    views = {name: value for name, value in returned.items() if isinstance(value, TmaView)}
    sources = {id(value): name for name, value in arguments.items() if is_pointer(value)}
    pointers = {name: sources[id(value)] for name, value in returned.items() if id(value) in sources}
    values = {name: value for name, value in returned.items() if name not in views and name not in pointers}
    for name, value in values.items():
        if is_pointer(value):
            raise Fallback(
                "guard-error", f"the guard made the tensor {name} up; it may only pass on those it was given"
            )
    return Guarded(views, pointers, values)


def prepare(
    kernel: Any,
    schedule: Schedule,
    plan: RingPlan,
    guard: Guarded,
    arguments: Mapping[str, Any],
    positional: Sequence[str],
    options: Mapping[str, Any],
) -> Prepared:
    """Lay out the converted kernel's arguments for one config.

    `arguments` are the source's by name, of which the first `positional` came without their names. Raises `Fallback`
    with code `arguments` if the kernel has a parameter that nothing supplies.
    """
    positions = {name: position for position, name in enumerate(positional)}
    descriptors = {name: view.descriptor(plan.boxes[name].shape) for name, view in guard.views.items()}
    fixed = {**descriptors, **guard.values, **plan.constexprs}
    template: list[Any] = []
    live: list[tuple[int, int, str]] = []
    grid_slots: list[tuple[int, int]] = []
    for slot, (name, parameter) in enumerate(kernel.signature.parameters.items()):
        source = guard.pointers.get(name, name)
        value = fixed.get(name)
        if name in fixed:
            pass
        elif source in arguments:
            value = arguments[source]
            if is_pointer(value):
                live.append((slot, positions.get(source, -1), source))
                value = None
        elif schedule.persistent and name.startswith(GRID_PREFIX):
            grid_slots.append((slot, int(name.removeprefix(GRID_PREFIX))))
        elif parameter.default is not parameter.empty:
            value = parameter.default
        else:
            raise Fallback("arguments", f"nothing supplies the parameter {name} of {kernel.__name__}")
        template.append(value)
    tensors = [name for name, value in arguments.items() if is_pointer(value)]
    launch = {**options, "num_warps": PRODUCER_WARPS}
    if plan.maxnreg is not None:
        launch["maxnreg"] = plan.maxnreg
    return Prepared(
        kernel=kernel,
        plan=plan,
        schedule=schedule,
        template=template,
        live=tuple(live),
        grid_slots=tuple(grid_slots),
        meta={name: value for name, value in arguments.items() if name not in tensors},
        meta_live=tuple((name, positions.get(name, -1)) for name in tensors),
        options=launch,
    )
