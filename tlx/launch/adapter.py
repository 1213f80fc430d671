"""The bottom of a rebuilt decorator stack: takes the source's arguments and config, launches the converted kernel.

Tuner and heuristics above it are Triton's and know nothing of rings: they see the source's names, and each config comes
down here as the keyword arguments the source's jit function would have got.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from triton.runtime.errors import OutOfResources

from tlx.launch.guard import Fallback
from tlx.launch.prepare import Guarded, Prepared, prepare
from tlx.launch.schedule import RingPlan, Schedule
from tlx.launch.stats import Counters
from tlx.launch.tuning import DEFAULT_STAGES, DEFAULT_WARPS, MIN_STAGES, OVERRIDES, Boxes, plan_ring

__all__ = ["Adapter", "Decision", "Ticket", "Unusable"]

#: Options of a launch that the plan of the converted kernel takes the place of.
REPLACED = ("num_warps", "num_stages", "maxnreg", "num_ctas", "ir_override", *OVERRIDES)


class Decision:
    """What was decided for launches of one description: why the original runs, or how the converted kernel does."""

    __slots__ = ("fallback", "guard", "launches", "processors", "stacks", "tensors_by_name")

    def __init__(
        self,
        fallback: Fallback | None = None,
        guard: Guarded | None = None,
        processors: int = 1,
        tensors_by_name: tuple[str, ...] = (),
    ) -> None:
        self.fallback = fallback
        self.guard = guard
        #: SMs of the device.
        self.processors = processors
        #: Tensors that the call passes as keyword arguments; they must not become part of a key.
        self.tensors_by_name = tensors_by_name
        #: Prepared launches by config.
        self.launches: dict[Any, Prepared] = {}
        #: The decorator stack to launch through, by whether the grid is computed from the config.
        self.stacks: dict[bool, Any] = {}


class Ticket:
    """The source's grid on its way through the decorators, with the decision it belongs to."""

    __slots__ = ("decision", "grid")

    def __init__(self, grid: Any, decision: Decision) -> None:
        self.grid = grid
        self.decision = decision

    def __call__(self, meta: Mapping[str, Any]) -> Any:
        """The grid as the user's own hooks may ask for it."""
        return self.grid(meta) if callable(self.grid) else self.grid


class Unusable(OutOfResources):  # type: ignore[misc]
    """This config cannot be launched specialized. Triton's tuner passes over what runs out of resources."""

    def __init__(self, fallback: Fallback, *, lasting: bool) -> None:
        super().__init__(0, 0, fallback.text)
        self.fallback = fallback
        #: Whether the same launch would fail again.
        self.lasting = lasting

    def __str__(self) -> str:
        return str(self.fallback)


class Adapter:
    """Looks like the source's jit function to the decorators above, and runs the converted kernel."""

    def __init__(self, source: Any, converted: Any, boxes: Boxes, schedule: Schedule, counters: Counters) -> None:
        #: What Triton's tuner takes the name and the dependency hash of its disk cache from.
        self.fn = converted
        self.arg_names: list[str] = source.arg_names
        self._source = source
        self._boxes = boxes
        self._schedule = schedule
        self._counters = counters
        self._defaults = {
            name: parameter.default
            for name, parameter in source.signature.parameters.items()
            if parameter.default is not parameter.empty
        }
        self._required = [name for name in source.arg_names if name not in self._defaults]
        #: Depths that turned out too deep when launched, and what to use instead.
        self._reduced: dict[RingPlan, RingPlan] = {}
        self._failed: dict[Any, Fallback] = {}

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The source's arguments by name, defaults included, and what else the call says (options of the launch)."""
        named = {**self._defaults, **dict(zip(self.arg_names, args, strict=False))}
        options = {}
        for name, value in kwargs.items():
            if name in self._source.signature.parameters:
                named[name] = value
            else:
                options[name] = value
        return named, options

    def warmup(self, *args: Any, grid: Ticket, **kwargs: Any) -> Any:
        """Compile for these arguments without launching."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def run(self, *args: Any, grid: Ticket, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch the converted kernel; raises `Unusable` if this config cannot be."""
        for hook in self._source.pre_run_hooks:
            hook(*args, **kwargs)
        decision = grid.decision
        key = _config_key(kwargs, decision.tensors_by_name)
        ready = decision.launches.get(key)
        if ready is None:
            ready = self._first(decision, key, args, kwargs)
        while True:
            try:
                return self._launch(ready, grid, args, kwargs, warmup)
            except Unusable as refusal:
                if refusal.lasting:
                    self._failed[ready.plan, key] = refusal.fallback
                raise
            except OutOfResources as error:
                ready = self._shallower(ready, error, decision.guard, args, kwargs)
                decision.launches[key] = ready

    def prepare(self, guard: Guarded | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Prepared:
        """The launch under the config in `kwargs`; raises `Fallback` if there is none."""
        assert guard is not None
        named, options = self.bind(args, kwargs)
        if options.get("num_ctas", 1) != 1:
            raise Fallback("clusters", f"num_ctas={options['num_ctas']}: converted kernels do not use clusters")
        if options.get("ir_override") is not None:
            raise Fallback("ir-override", "the call replaces the source's intermediate code")
        for name in self._required:
            if name not in named:
                raise Fallback("unknown-config", f"the launch does not say {name}; only the original's decorators know")
        overrides = {name: options[name] for name in OVERRIDES if name in options}
        warps, stages = options.get("num_warps", DEFAULT_WARPS), options.get("num_stages", DEFAULT_STAGES)
        plan = plan_ring(self._schedule, self._boxes, guard.views, {**named, **overrides}, warps, stages)
        plan = self._reduced.get(plan, plan)
        if plan.stages < plan.asked:
            self._counters.clamped(f"num_stages={plan.asked} cut to {plan.stages}: shared memory holds no more")
        forwarded = {name: value for name, value in options.items() if name not in REPLACED}
        positional = self.arg_names[: len(args)]
        return prepare(self.fn, self._schedule, plan, guard, named, positional, forwarded)

    def _first(self, decision: Decision, key: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Prepared:
        try:
            ready = self.prepare(decision.guard, args, kwargs)
        except Fallback as refusal:
            raise Unusable(refusal, lasting=True) from None
        if failure := self._failed.get((ready.plan, key)):
            raise Unusable(failure, lasting=True)
        decision.launches[key] = ready
        return ready

    def _launch(
        self, ready: Prepared, ticket: Ticket, args: Sequence[Any], kwargs: Mapping[str, Any], warmup: bool
    ) -> Any:
        extents = ready.extents(ticket.grid, args, kwargs)
        try:
            launch_grid, values = ready.fill(extents, args, kwargs, ticket.decision.processors)
        except Fallback as refusal:
            raise Unusable(refusal, lasting=False) from None
        if not launch_grid and not warmup:
            return None
        try:
            return ready.kernel.run(*values, grid=launch_grid or (1,), warmup=warmup, **ready.options)
        except OutOfResources:
            raise
        except Exception as error:
            # Whatever it is, the source would not have raised it here; if it would, it will.
            text = f"the specialized kernel failed to launch: {type(error).__name__}: {error}"
            self._counters.tell("launch-failed", text, logging.WARNING)
            raise Unusable(Fallback("launch-failed", text), lasting=True) from error

    def _shallower(
        self,
        ready: Prepared,
        error: OutOfResources,
        guard: Guarded | None,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Prepared:
        """The same launch with one stage less."""
        plan = ready.plan
        if plan.stages <= MIN_STAGES:
            raise Unusable(Fallback("out-of-resources", str(error)), lasting=True) from error
        less = dataclasses.replace(plan, stages=plan.stages - 1)
        for deeper in [deeper for deeper, used in self._reduced.items() if used == plan] + [plan]:
            self._reduced[deeper] = less
        self._counters.clamped(f"{plan.stages} stages cut to {less.stages}: {error}")
        return self.prepare(guard, args, kwargs)


def _config_key(kwargs: Mapping[str, Any], tensors: Sequence[str]) -> Any:
    """What tells configs of one description apart; 1, 1.0 and True are different constexprs."""
    if tensors:
        kwargs = {name: value for name, value in kwargs.items() if name not in tensors}
    key = (*kwargs, *kwargs.values(), *map(type, kwargs.values()))
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key
