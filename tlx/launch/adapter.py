"""The bottom of a rebuilt decorator stack: takes the source's arguments and config, launches the converted kernel.

Tuner and heuristics above it are Triton's and know nothing of rings: they see the source's names, and each config comes
down here as the keyword arguments the source's jit function would have got.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from triton.runtime.errors import OutOfResources

from tlx.launch.express import capture
from tlx.launch.guard import Fallback
from tlx.launch.pointers import Bounded
from tlx.launch.policy import Facts, Preference, facts_of
from tlx.launch.prepare import Guarded, Layout, Prepared, lay_out
from tlx.launch.routes import Choice, Route
from tlx.launch.schedule import RingPlan, Schedule
from tlx.launch.stats import Counters
from tlx.launch.tuning import DEFAULT_STAGES, DEFAULT_WARPS, MIN_STAGES, OVERRIDES, Boxes, plan_ring

__all__ = ["Adapter", "Decision", "Interposed", "Ticket", "Unusable"]

#: Options of Triton's launch that concern the converted kernel's plan.
OPTIONS = ("num_warps", "num_stages", "maxnreg", "num_ctas", "ir_override")
#: Options that the plan takes the place of.
REPLACED = (*OPTIONS, *OVERRIDES)
#: Of these, what a plain kernel is given as the plan has it, or not at all.
PLACED = tuple(name for name in OPTIONS if name != "maxnreg")


class Decision:
    """What was decided for launches of one description: why the original runs, or how the converted kernel does."""

    __slots__ = (
        "by_config",
        "device",
        "fallback",
        "guard",
        "launches",
        "named_tensors",
        "noted",
        "original_route",
        "processors",
        "repeats",
        "routes",
        "stacks",
        "storages",
        "tensors",
        "trial",
    )

    def __init__(
        self,
        fallback: Fallback | None = None,
        guard: Guarded | None = None,
        tensors: tuple[str, ...] = (),
        named_tensors: tuple[str, ...] = (),
        processors: int = 1,
        storages: list[Bounded] | None = None,
        device: int | None = None,
        by_config: Callable[[Decision, Mapping[str, Any], Sequence[str]], Guarded] | None = None,
    ) -> None:
        self.fallback = None if fallback is None else fallback.untraced()
        self.guard = guard
        #: Which of the source's arguments are tensors, and which of those the call passes by name.
        self.tensors = tensors
        self.named_tensors = named_tensors
        #: Tensors whose storage the guard went by (name, position or -1), and what it was: it must still be that for
        #: the decision to hold.
        self.storages: list[Bounded] = [] if storages is None else storages
        #: Where the guard reads what configs or heuristics set: what it says to arguments as they reach the kernel, of
        #: which those named come by position. Raises `Fallback`.
        self.by_config = by_config
        #: The device whose launches are described; `None` where the decision is for launches of any description.
        self.device = device
        #: SMs of the device.
        self.processors = processors
        #: Prepared launches by config.
        self.launches: dict[Any, Prepared] = {}
        #: The decorator stack to launch through, by whether the grid is computed from the config.
        self.stacks: dict[bool, Any] = {}
        #: The short way, by the same; `None` where there is none.
        self.routes: dict[bool, Route | Interposed | None] = {}
        #: Launches of the original so far, up to two, and the short way to it.
        self.repeats = 0
        self.original_route: Route | Interposed | None = None
        #: Whether the conversion runs whatever the policy says: to be timed or compared.
        self.trial = False
        #: For who watches launches: what it remembers of those of this description. `None` until it does.
        self.noted: Any = None

    def twin(self) -> Decision:
        """The same with routes and prepared launches of its own, for what stands between the caller and the kernel."""
        twin = Decision(
            self.fallback,
            self.guard,
            self.tensors,
            self.named_tensors,
            self.processors,
            self.storages,
            self.device,
            self.by_config,
        )
        twin.stacks, twin.trial = self.stacks, self.trial
        return twin


class Interposed(Protocol):
    """What may take the place of a route: a launch goes through it, whatever it then does."""

    @property
    def tuned(self) -> bool:
        """Whether a tuner has chosen the config."""

    def holds(self) -> bool:
        """Whether it is to be asked."""

    def launch(self, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Launch; may raise `Unusable` or `Fallback`."""


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

    def __init__(
        self,
        source: Any,
        converted: Any,
        boxes: Boxes,
        schedule: Schedule,
        counters: Counters,
        configs: Sequence[Any] = (),
        elsewhere: Iterable[str] = (),
    ) -> None:
        #: What Triton's tuner takes the name and the dependency hash of its disk cache from.
        self.fn = converted
        self.arg_names: list[str] = source.arg_names
        self._source = source
        self._boxes = boxes
        self._schedule = schedule
        self._counters = counters
        #: The constexprs of the configs of the source's tuner.
        self._listed: list[Mapping[str, Any]] = [config.kwargs for config in configs]
        self._defaults = {
            name: parameter.default
            for name, parameter in source.signature.parameters.items()
            if parameter.default is not parameter.empty
        }
        self._names = frozenset(source.arg_names)
        self._required = [name for name in source.arg_names if name not in self._defaults]
        #: What tuners set that cannot be rebuilt: a default of it is not what the source is launched with.
        self._elsewhere = self._names.intersection(elsewhere)
        #: Depths that turned out too deep when launched, and what to use instead.
        self._reduced: dict[RingPlan, RingPlan] = {}
        self._failed: dict[Any, Fallback] = {}
        self._layouts: dict[Any, Layout] = {}
        #: What the policy has to say about a config that could be launched.
        self.preference: Preference | None = None

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The source's arguments by name, defaults included, and what else the call says (options of the launch)."""
        named = {**self._defaults, **dict(zip(self.arg_names, args, strict=False))}
        options = {}
        for name, value in kwargs.items():
            if name in self._names:
                named[name] = value
            # Triton takes what is passed by the name of an option for one, also where a parameter is called so.
            if name not in self._names or name in OPTIONS:
                options[name] = value
        return named, options

    def defaulted(self, reaching: Mapping[str, Any]) -> dict[str, Any]:
        """The source's arguments among what reaches it, and the defaults of those that do not."""
        return self.bind((), reaching)[0]

    def warmup(self, *args: Any, grid: Ticket, **kwargs: Any) -> Any:
        """Compile for these arguments without launching."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def run(self, *args: Any, grid: Ticket, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch the converted kernel under the config in `kwargs`; raises `Unusable` if it cannot be."""
        key = _config_key(kwargs, grid.decision.named_tensors)
        return self.launch(grid.decision, key, args, kwargs, grid.grid, warmup)

    def launch(
        self,
        decision: Decision,
        key: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        grid: Any,
        warmup: bool = False,
    ) -> Any:
        """Launch the converted kernel; `key` tells configs under one decision apart. Raises `Unusable`."""
        for hook in self._source.pre_run_hooks:
            hook(*args, **kwargs)
        ready = decision.launches.get(key)
        if ready is None:
            ready = self._first(decision, args, kwargs)
            decision.launches[key] = ready
        while True:
            try:
                return self._launch(ready, grid, args, kwargs, decision, warmup)
            except Unusable as refusal:
                if refusal.lasting:
                    self._failed[ready.plan, _config_key(kwargs, decision.named_tensors)] = refusal.fallback.untraced()
                raise
            except OutOfResources as error:
                self._reduce(ready.plan, error)
                ready = self.prepare(decision, args, kwargs)
                decision.launches[key] = ready

    def prepare(self, decision: Decision, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Prepared:
        """The launch under the config in `kwargs`; raises `Fallback` if there is none."""
        named, options = self.bind(args, kwargs)
        if options.get("num_ctas", 1) != 1:
            raise Fallback("clusters", f"num_ctas={options['num_ctas']}: converted kernels do not use clusters")
        if options.get("ir_override") is not None:
            raise Fallback("ir-override", "the call replaces the source's intermediate code")
        for name in self._required:
            if name not in named:
                raise Fallback("unknown-config", f"the launch does not say {name}; only the original's decorators know")
        for name in self._elsewhere:
            if name not in kwargs and name not in self.arg_names[: len(args)]:
                raise Fallback("unknown-config", f"only the original's decorators know {name}")
        guard = decision.guard
        if decision.by_config is not None:
            guard = decision.by_config(decision, named, self.arg_names[: len(args)])
        assert guard is not None
        warps, stages = options.get("num_warps", DEFAULT_WARPS), options.get("num_stages", DEFAULT_STAGES)
        overrides = {name: options[name] for name in OVERRIDES if name in options}
        plan = plan_ring(self._schedule, self._boxes, guard.filled, {**named, **overrides}, warps, stages)
        if self._reduced:
            plan = self._reduced.get(plan, plan)
        if plan.stages < plan.asked:
            self._counters.clamped(f"num_stages={plan.asked} cut to {plan.stages}: shared memory holds no more")
        replaced = PLACED if self._schedule.plain else REPLACED
        forwarded = {name: value for name, value in options.items() if name not in replaced}
        listed = self._listed_instead(named)
        return self._layout(decision, guard, named, len(args)).prepare(plan, guard, named, forwarded, listed)

    def _listed_instead(self, named: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The config of the source's that is most like `named`, which is under none of them; else `None`."""
        alike = [sum(named.get(name) == value for name, value in config.items()) for config in self._listed]
        if not alike or any(found == len(config) for found, config in zip(alike, self._listed, strict=True)):
            return None
        return self._listed[alike.index(max(alike))]

    def facts(self, decision: Decision, ready: Prepared, named: Mapping[str, Any]) -> Facts:
        """What the policy may ask about a launch; `named` are the source's arguments."""
        assert decision.guard is not None
        return facts_of(self._schedule, ready.plan, decision.guard.filled, named)

    def _layout(self, decision: Decision, guard: Guarded, named: Mapping[str, Any], positional: int) -> Layout:
        form = (positional, *named, *decision.tensors, *guard.views, *guard.values, *guard.pointers.items())
        layout = self._layouts.get(form)
        if layout is None:
            names = self.arg_names[:positional]
            layout = lay_out(self.fn, self._schedule, guard, named, names, decision.tensors)
            self._layouts[form] = layout
        return layout

    def _first(self, decision: Decision, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Prepared:
        try:
            ready = self.prepare(decision, args, kwargs)
        except Fallback as refusal:
            raise Unusable(refusal, lasting=True) from None
        if self._failed:
            failure = self._failed.get((ready.plan, _config_key(kwargs, decision.named_tensors)))
            if failure is not None:
                raise Unusable(failure.untraced(), lasting=True)
        if self.preference is not None and not decision.trial:
            named, options = self.bind(args, kwargs)
            unwanted = self.preference(self.facts(decision, ready, named), named, options)
            if unwanted is not None:
                raise Unusable(unwanted, lasting=True)
        return ready

    def _launch(
        self,
        ready: Prepared,
        grid: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        decision: Decision,
        warmup: bool,
    ) -> Any:
        # The user's grid may raise what it likes; it would do so for the original as well.
        try:
            extents = ready.extents(grid, args, kwargs)
            launch_grid = ready.fold(extents, decision.processors)
        except Fallback as refusal:
            raise Unusable(refusal, lasting=False) from None
        if not launch_grid and not warmup:
            return None
        try:
            if ready.express is not None and not warmup and ready.express.holds():
                return ready.express.launch(launch_grid, extents)
            values = ready.values(extents, args, kwargs)
            compiled = self.fn.run(*values, grid=launch_grid or (1,), warmup=warmup, **ready.options)
        except OutOfResources:
            raise
        except Exception as error:
            raise self.failed(error) from error
        if ready.launches < 2 and not warmup:
            ready.launches += 1
            if ready.launches == 2 and "ctas_per_cga" not in ready.options:
                ready.express = capture(self.fn, compiled, decision.device, values, ready.layout.grid)
        return compiled

    def failed(self, error: Exception) -> Unusable:
        """What to raise where the specialized kernel fails to launch."""
        # Whatever it is, the source would not have raised it here; if it would, it will.
        text = f"the specialized kernel failed to launch: {type(error).__name__}: {error}"
        self._counters.tell("launch-failed", text, logging.WARNING)
        return Unusable(Fallback("launch-failed", text), lasting=True)

    def route(self, decision: Decision, choice: Choice | None, kwargs: Mapping[str, Any]) -> Route | None:
        """The short way to a launch made twice under this decision, with the config of `choice` if there is one."""
        key = None
        if choice is not None:
            key = _config_key({**kwargs, **choice.config.all_kwargs()}, decision.named_tensors)
        ready = decision.launches.get(key)
        if ready is None or ready.express is None:
            return None

        def fold(extents: tuple[int, ...]) -> tuple[int, ...]:
            return ready.fold(extents, decision.processors)

        tensors = ready.layout.tensors
        return Route(ready.express, self._source, choice, ready.meta, tensors, fold, self.failed, ready.follows)

    def _reduce(self, plan: RingPlan, error: OutOfResources) -> None:
        """Use one stage less from now on wherever this plan, or a deeper one cut down to it, is asked for."""
        if plan.stages <= MIN_STAGES:
            raise Unusable(Fallback("out-of-resources", str(error)), lasting=True) from error
        less = dataclasses.replace(plan, stages=plan.stages - 1)
        for deeper in [deeper for deeper, used in self._reduced.items() if used == plan] + [plan]:
            self._reduced[deeper] = less
        self._counters.clamped(f"{plan.stages} stages cut to {less.stages}: {error}")


def _config_key(kwargs: Mapping[str, Any], tensors: Sequence[str]) -> Any:
    """What tells configs of one description apart: 1, 1.0 and True are different constexprs, so are 0.0 and -0.0."""
    if tensors:
        kwargs = {name: value for name, value in kwargs.items() if name not in tensors}
    values = [value or str(value) if type(value) is float else value for value in kwargs.values()]
    key = (*kwargs, *values, *map(type, kwargs.values()))
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key
