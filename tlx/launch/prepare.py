"""The arguments of a specialized launch: all that can be is made once, the rest is filled in at each launch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlx.launch.express import Express
from tlx.launch.guard import CopiedRows, Fallback, TmaView
from tlx.launch.pointers import is_pointer
from tlx.launch.routes import Follows, asked
from tlx.launch.schedule import RING_CONSTEXPRS, RingPlan, Schedule

__all__ = ["Guarded", "Layout", "Prepared", "guarded", "lay_out"]

#: Warps of the default task: the producer's. Triton's own default, which counts where the option cannot be given.
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
    #: Operands that threads copy, by their rings: they need shared memory, and no argument.
    copies: Mapping[str, CopiedRows] = field(default_factory=dict)

    @property
    def filled(self) -> Mapping[str, TmaView | CopiedRows]:
        """Everything that rings hold tiles of."""
        return {**self.views, **self.copies}

    def detached(self) -> Guarded:
        """The same without a hold on any tensor."""
        views = {name: view.detached() for name, view in self.views.items()}
        return Guarded(views, self.pointers, self.values, self.copies)


@dataclass(slots=True)
class Prepared:
    """A specialized launch, but for the tensors and the grid."""

    layout: Layout
    plan: RingPlan
    #: Positional arguments of the kernel, with gaps for tensors and grid.
    template: list[Any]
    #: What the source's grid may read by name, but for its tensors.
    meta: Mapping[str, Any]
    options: Mapping[str, Any]
    #: Launches so far, up to two: the second is worth remembering, and is remembered here if it can be.
    launches: int = 0
    express: Express | None = None
    #: What the grid must be, where the tiles are none of the source's.
    follows: Follows | None = None

    def extents(self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, ...]:
        """The extents of the source's grid; a callable one is asked as Triton would ask it.

        Raises `Fallback` with code `grid-follows` where it does not follow tiles that the source does not list.
        """
        extents = asked(grid, self.meta, self.layout.tensors, args, kwargs)
        if self.follows is not None:
            self.follows.check(extents, grid, args, kwargs)
        return extents

    def fold(self, extents: tuple[int, ...], processors: int) -> tuple[int, ...]:
        """The grid to launch for the source's of `extents`, `()` if it is empty.

        Raises `Fallback` with code `grid-rank` (program ids the kernel was not written for) or `grid-range`.
        """
        tiles = math.prod(extents)
        if tiles <= 0:
            return ()
        schedule = self.layout.schedule
        if not schedule.persistent:
            return extents
        rank = schedule.grid_rank
        if len(extents) > rank and math.prod(extents[rank:]) != 1:
            raise Fallback("grid-rank", f"the grid {extents} has more than the {rank} axes of the plan")
        if tiles > GRID_LIMIT:
            raise Fallback("grid-range", f"the grid {extents} has more than {GRID_LIMIT} programs")
        return (min(tiles, processors * self.plan.resident),)

    def values(self, extents: tuple[int, ...], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The kernel's positional arguments."""
        values = self.template.copy()
        for slot, position, name in self.layout.live:
            values[slot] = args[position] if position >= 0 else kwargs[name]
        for slot, axis in self.layout.grid:
            values[slot] = extents[axis] if axis < len(extents) else 1
        return values


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each argument of the converted kernel comes from, for all calls that pass arguments in the same way."""

    kernel: Any
    schedule: Schedule
    #: Slots that the plan or the guard supplies, and those that take a plain argument of the source: (slot, name).
    made: tuple[tuple[int, str], ...]
    passed: tuple[tuple[int, str], ...]
    #: (slot, position among the source's positional arguments or -1, name in its keyword arguments).
    live: tuple[tuple[int, int, str], ...]
    #: (slot, axis of the source's grid).
    grid: tuple[tuple[int, int], ...]
    #: The source's tensors: (name, position or -1).
    tensors: tuple[tuple[str, int], ...]
    #: Defaults of the converted kernel where it has them and nothing else supplies a value.
    blank: tuple[Any, ...]

    def prepare(
        self,
        plan: RingPlan,
        guard: Guarded,
        arguments: Mapping[str, Any],
        options: Mapping[str, Any],
        listed: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """The launch with these `arguments` of the source and so much of `options` as the plan leaves open.

        `listed` are the constexprs of a config of the source's, where those of this launch are none of its own.
        """
        made = dict(guard.values) if self.schedule.plain else {**guard.values, **plan.constexprs}
        for name, view in guard.views.items():
            made[name] = view.descriptor(plan.boxes[name].shape)
        template = list(self.blank)
        for slot, name in self.made:
            template[slot] = made[name]
        for slot, name in self.passed:
            template[slot] = arguments[name]
        meta = dict(arguments)
        for name, _ in self.tensors:
            del meta[name]
        launch = {**options, "num_warps": plan.consumer_warps if self.schedule.lean else PRODUCER_WARPS}
        if self.schedule.plain:
            launch = {**options, "num_warps": plan.consumer_warps, "num_stages": plan.stages}
        if plan.maxnreg is not None:
            launch["maxnreg"] = plan.maxnreg
        parameters = self.kernel.signature.parameters
        if "maxnreg" in launch and "maxnreg" in parameters:
            raise Fallback(
                "arguments", f"{self.kernel.__name__} has a parameter maxnreg: no launch can limit registers"
            )
        for name in ("num_warps", "num_stages"):
            # It takes its place, as a parameter of the source does when it is passed by position; the option then has
            # the default of Triton.
            if name in parameters:
                launch.pop(name, None)
        follows = None
        if listed is not None and self.schedule.programs is not None:
            follows = Follows(self.schedule.programs, meta, listed, self.tensors)
        return Prepared(self, plan, template, meta, launch, follows=follows)


def guarded(returned: Mapping[str, Any], arguments: Mapping[str, Any], tensors: Iterable[str]) -> Guarded:
    """Sort what a guard returned for a launch with `arguments`, of which `tensors` are tensors."""
    sources = {id(arguments[name]): name for name in tensors}
    views: dict[str, TmaView] = {}
    pointers: dict[str, str] = {}
    values: dict[str, Any] = {}
    copies: dict[str, CopiedRows] = {}
    for name, value in returned.items():
        if isinstance(value, TmaView):
            views[name] = value
        elif isinstance(value, CopiedRows):
            copies[name] = value
        elif id(value) in sources:
            pointers[name] = sources[id(value)]
        elif is_pointer(value):
            raise Fallback("guard-error", f"the guard made the tensor {name} up; it may only pass on what it was given")
        else:
            values[name] = value
    return Guarded(views, pointers, values, copies)


def lay_out(
    kernel: Any,
    schedule: Schedule,
    guard: Guarded,
    arguments: Iterable[str],
    positional: Sequence[str],
    tensors: Sequence[str],
) -> Layout:
    """Find a source for every parameter of the converted kernel.

    `arguments` are the source's by name; of them the first `positional` come without their names, and `tensors` are
    tensors. Raises `Fallback` with code `arguments` if the kernel has a parameter that nothing supplies.
    """
    arguments = set(arguments)
    positions = {name: position for position, name in enumerate(positional)}
    supplied = {*guard.views, *guard.values, *(() if schedule.plain else RING_CONSTEXPRS)}
    made: list[tuple[int, str]] = []
    passed: list[tuple[int, str]] = []
    live: list[tuple[int, int, str]] = []
    grid: list[tuple[int, int]] = []
    blank: list[Any] = []
    for slot, (name, parameter) in enumerate(kernel.signature.parameters.items()):
        source = guard.pointers.get(name, name)
        blank.append(None if parameter.default is parameter.empty else parameter.default)
        if name in supplied:
            made.append((slot, name))
        elif source in tensors:
            live.append((slot, positions.get(source, -1), source))
        elif source in arguments:
            passed.append((slot, source))
        elif schedule.persistent and name.startswith(GRID_PREFIX):
            grid.append((slot, int(name.removeprefix(GRID_PREFIX))))
        elif parameter.default is parameter.empty:
            raise Fallback("arguments", f"nothing supplies the parameter {name} of {kernel.__name__}")
    where = tuple((name, positions.get(name, -1)) for name in tensors)
    return Layout(kernel, schedule, tuple(made), tuple(passed), tuple(live), tuple(grid), where, tuple(blank))
