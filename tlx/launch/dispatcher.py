"""Which kernel a launch runs: the decision, its cache, and the way down to either kernel."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tlx.launch import chip, switches
from tlx.launch.adapter import Adapter, Decision, Ticket, Unusable
from tlx.launch.asking import Guarding
from tlx.launch.chooser import Chooser
from tlx.launch.fingerprint import fingerprint_of
from tlx.launch.guard import Fallback
from tlx.launch.keys import LaunchCache
from tlx.launch.pointers import base_of, is_descriptor, is_memory, same_storage
from tlx.launch.policy import current, follow
from tlx.launch.prepare import Guarded
from tlx.launch.repeat import Repeats, choice_of_source
from tlx.launch.routes import asked, choice_of
from tlx.launch.schedule import Dispatch, Schedule
from tlx.launch.shortcut import route_to_original
from tlx.launch.stack import Stack, heuristics_over, layers_of, rebuild, take_apart, tuner_over
from tlx.launch.stats import Counters
from tlx.launch.tuning import Boxes, Candidate, candidates, config_of

__all__ = ["Dispatcher", "StaleKernelError"]

#: SMs of an H100 or H200 SXM: what `resolve` assumes where no launch is to happen.
HOPPER_PROCESSORS = 132
#: Reasons that a user should see without asking for them.
LOUD = ("stale", "launch-failed", "guard-error")
TRACING = Fallback("tracing", "torch is recording a program, not running it: it gets the original")


class StaleKernelError(RuntimeError):
    """The source of a converted kernel has changed since, and `TLXIFY_STALE=error` is set."""


class Dispatcher:
    """One source kernel, its conversion, and everything decided about their launches. Safe to use from threads."""

    def __init__(
        self,
        original: Any,
        converted: Any,
        guard: Callable[..., Mapping[str, Any]],
        boxes: Boxes,
        schedule: Schedule,
        fingerprint: str | None,
    ) -> None:
        self.original = original
        self.converted = converted
        self.stack: Stack = take_apart(original)
        self._guard = guard
        self._boxes = boxes
        self._schedule = schedule
        self._fingerprint = fingerprint
        kernel = self.stack.kernel
        function = original if kernel is None else kernel.fn
        self.name: str = getattr(function, "__name__", type(original).__name__)
        self.counters = Counters(f"{getattr(function, '__module__', '')}.{self.name}")
        self._bare = self.stack.known and not self.stack.layers
        self._lock = threading.RLock()
        self.reset()
        follow(self)

    def reset(self) -> None:
        """Forget decisions, tuned configs and the switches; the next launch looks at everything anew."""
        chip.forget()
        with self._lock:
            self._cache: LaunchCache[Decision] = LaunchCache()
            self._stacks: dict[Any, Any] = {}
            #: Why no launch can be specialized; unknown before the first.
            self._never: Decision | None = None
            self._examined = False
            #: Policy and shadow of this kernel.
            self.chooser = Chooser(self)
            #: The tuner that chose the config of the last launch, where that was one of ours.
            self.tuned: Any = None
            #: The configs of the last stack that was built.
            self.candidates: tuple[Candidate, ...] = ()
            if self.stack.kernel is not None:
                configs = self.stack.tuner.configs if self.stack.tuner is not None else ()
                self._guarding = Guarding(self._guard, self.stack, self._schedule)
                elsewhere = {name for config in self.stack.opaque_configs for name in config.kwargs}
                self._adapter = Adapter(
                    self.stack.kernel, self.converted, self._boxes, self._schedule, self.counters, configs, elsewhere
                )

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch whichever kernel is right for these arguments, or with `warmup` only compile."""
        return self.warmup(*args, grid=grid, **kwargs) if warmup else self.launch(args, kwargs, grid)

    def launch(self, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any) -> Any:
        """Launch whichever kernel is right for these arguments, and count which it was."""
        return self.launch_decided(self.decide(args, kwargs), args, kwargs, grid)

    def launch_decided(self, decision: Decision, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any) -> Any:
        """The same, once it is decided: for who watches launches and remembers something by decision."""
        refusal = decision.fallback
        follows = callable(grid)
        if refusal is None:
            try:
                route = decision.routes.get(follows)
                if route is not None and route.holds():
                    result = route.launch(grid, args, kwargs)
                    self.tuned = decision.stacks.get(follows) if route.tuned else None
                else:
                    result = self._convert_the_long_way(decision, args, kwargs, grid)
                self.counters.ran_fast()
                return result
            except Unusable as unusable:
                refusal = unusable.fallback
                if unusable.lasting:
                    decision.fallback = refusal.untraced()
                    if refusal.code == "policy":
                        self.chooser.shadow_original(decision)
            except Fallback as found:
                refusal = found
            self._tell(refusal)
        self.counters.ran_original(refusal.code)
        self.tuned = None
        route = decision.original_route
        if route is not None and route.holds():
            return route.launch(grid, args, kwargs)
        return self._launch_the_long_way(decision, args, kwargs, grid)

    def _convert_the_long_way(
        self, decision: Decision, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any
    ) -> Any:
        """Launch the converted kernel through whatever decorators there are, and look for a shorter way."""
        if self._bare:
            result = self._adapter.launch(decision, None, args, kwargs, grid)
        else:
            result = self._launch_through_stack(decision, args, kwargs, grid)
        follows = callable(grid)
        if follows not in decision.routes and any(ready.express for ready in decision.launches.values()):
            self._find_route(decision, follows, args, kwargs)
        return result

    def _launch_the_long_way(
        self, decision: Decision, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any
    ) -> Any:
        """Launch the original as the user would, and look for a shorter way."""
        if self.stack.known:
            compiled = self.original.run(*args, grid=grid, warmup=False, **kwargs)
            if decision.repeats < 2 and decision.device is not None:
                decision.repeats += 1
                if decision.repeats == 2:
                    decision.original_route = route_to_original(self.stack, decision.device, compiled, args, kwargs)
            return compiled
        # An outer decorator of someone else's may know no more than this.
        return self.original[grid](*args, **kwargs)

    # ---- for what takes the place of a route: shadows and stopwatches --------------------------------------------

    def run_converted(self, decision: Decision, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any) -> Any:
        """Launch the converted kernel by a decision that it may run; uncounted. Raises `Unusable` and `Fallback`."""
        route = decision.routes.get(callable(grid))
        if route is not None and route.holds():
            return route.launch(grid, args, kwargs)
        return self._convert_the_long_way(decision, args, kwargs, grid)

    def run_original(self, decision: Decision, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any) -> Any:
        """Launch the original by a decision that it is to run; uncounted."""
        route = decision.original_route
        if route is not None and route.holds():
            return route.launch(grid, args, kwargs)
        return self._launch_the_long_way(decision, args, kwargs, grid)

    def launch_original(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any) -> Any:
        """Launch the original as if there were no conversion."""
        if self.stack.known:
            return self.original.run(*args, grid=grid, warmup=False, **kwargs)
        return self.original[grid](*args, **kwargs)

    def trial(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Decision:
        """What the guard says to these arguments, with nothing remembered and no policy asked."""
        decision = self._guarded_decision(args, kwargs)
        decision.trial = True
        return decision

    def tunings(self) -> int:
        """How often a tuner of either kernel has measured."""
        with self._lock:
            tuners = [*self.stack.layers, *(layer for stack in self._stacks.values() for layer in layers_of(stack))]
        return sum(len(getattr(tuner, "cache", ())) for tuner in tuners)

    @property
    def arg_names(self) -> list[str]:
        """The source's parameters, in order."""
        return self._adapter.arg_names

    @property
    def plain(self) -> bool:
        """Whether the conversion is plain Triton, without roles."""
        return self._schedule.plain

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the source at conversion."""
        return self._fingerprint

    def _find_route(self, decision: Decision, follows: bool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """After a specialized launch: whether the next of this description can go the short way."""
        stack = self._adapter if self._bare else decision.stacks[follows]
        choice = None if stack is self._adapter else choice_of(stack, args, kwargs)
        if stack is not self._adapter and (choice is None or stack.fn is not self._adapter):
            decision.routes[follows] = None
            return
        found = self._adapter.route(decision, choice, kwargs)
        if found is not None:
            decision.routes[follows] = found

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compile without launching: the specialized kernel too if it would run, for every config.

        Returns what the original's warmup does: whoever launches a compiled kernel gives it the source's arguments.
        """
        decision = self.decide(args, kwargs)
        if decision.fallback is None:
            try:
                stack = self._stack_for(decision, callable(grid), args, kwargs)
                with self._lock:
                    stack.warmup(*args, grid=Ticket(grid, decision), **kwargs)
            except (Unusable, Fallback) as refusal:
                self._tell(refusal.fallback if isinstance(refusal, Unusable) else refusal)
        return self.original.warmup(*args, grid=grid, **kwargs)

    def resolve(
        self,
        *args: Any,
        grid: Any,
        config: Any = None,
        processors: int = HOPPER_PROCESSORS,
        **kwargs: Any,
    ) -> Dispatch:
        """What this launch would run on a Hopper with so many `processors`, without running anything.

        `config` is a `triton.Config` or a mapping in the source's terms; by default the first that can be specialized.
        The chip of this machine is not asked, and nothing is cached or counted.
        """
        try:
            never = self._examine()
            if never is not None:
                raise never
            named, _ = self._adapter.bind(args, kwargs)
            tensors = tuple(name for name, value in named.items() if is_memory(value))
            follows = callable(grid)
            chosen = _as_config(config)
            if chosen is None:
                allowed = self._guarding.first(named, tensors, self._reaching(args, kwargs))
                chosen = self._first_config(Decision(None, allowed, tensors), follows, args, kwargs)
            given = self._given(args, kwargs)
            named = self.stack.complete(given, chosen)
            decided = Decision(None, self._guarding.ask(self._adapter.defaulted(named), tensors), tensors)
            ready = self._adapter.prepare(decided, (), named)
            # Whoever names a config says what its grid is.
            extents = asked(grid, ready.meta, ready.layout.tensors, (), named)
            launch_grid, values = ready.fold(extents, processors), ready.values(extents, (), named)
        except Fallback as refusal:
            named, options = self._adapter.bind(args, kwargs) if self.stack.kernel is not None else (kwargs, {})
            return Dispatch("original", refusal.code, refusal.text, self.original, grid, named, options)
        arguments = dict(zip(self.converted.signature.parameters, values, strict=True))
        facts = self._adapter.facts(decided, ready, named)
        launch = (launch_grid, arguments, ready.options)
        return Dispatch("specialized", "", "", self.converted, *launch, ready.plan, facts)

    def decide(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Decision:
        """What the guard, the switches and the policy say to these arguments, remembered by description."""
        if not self._examined:
            never = self._examine()
            self._never = None if never is None else Decision(never)
        if self._never is not None:
            return self._never
        try:
            decision = self._cache.get(args, kwargs, chip.current_device(), self._first_decision)
            for name, position, storage, layout in decision.storages:
                if not same_storage(base_of(args[position] if position >= 0 else kwargs[name]), storage, layout):
                    return self._first_decision(args, kwargs)
            return decision
        except (TypeError, RuntimeError) as error:
            if chip.tracing([*args, *kwargs.values()]):
                return Decision(self._tell(TRACING))
            return Decision(self._tell(Fallback("guard-error", f"the arguments cannot be described: {error}")))

    def _first_decision(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Decision:
        return self.chooser.interpose(self._guarded_decision(args, kwargs))

    def _guarded_decision(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Decision:
        device = chip.current_device()
        try:
            named, _ = self._adapter.bind(args, kwargs)
            if chip.tracing(named.values()):
                raise TRACING.untraced()
            tensors = tuple(name for name, value in named.items() if is_memory(value))
            refusal = chip.refusal([(name, base_of(named[name])) for name in tensors])
            if refusal is not None:
                raise refusal
            found, storages = self._guarding.noting(
                lambda: self._guarding.first(named, tensors, self._reaching(args, kwargs)),
                named,
                tensors,
                self._adapter.arg_names[: len(args)],
            )
            by_name = tuple(name for name in tensors if name in kwargs)
            processors = 1 if device is None else chip.processors(device)
            by_config = self._ask_by_config if self._guarding.varies else None
            return Decision(None, found, tensors, by_name, processors, storages, device, by_config)
        except Fallback as refusal:
            return Decision(self._tell(refusal), device=device)

    def _ask_by_config(self, decision: Decision, named: Mapping[str, Any], positional: Sequence[str]) -> Guarded:
        """What the guard says to arguments as they reach the kernel; notes in `decision` whose storage that went by."""
        tensors = decision.tensors
        found, storages = self._guarding.noting(lambda: self._guarding.ask(named, tensors), named, tensors, positional)
        known = {name for name, *_ in decision.storages}
        decision.storages += [storage for storage in storages if storage[0] not in known]
        return found

    def _given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What a call gives, by name."""
        return {**dict(zip(self._adapter.arg_names, args, strict=False)), **kwargs}

    def _reaching(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[Any], dict[str, Any]]:
        """The source's arguments as they reach it under a config, by name."""
        given = self._given(args, kwargs)
        return lambda config: self._adapter.defaulted(self.stack.complete(given, config))

    def _launch_through_stack(
        self, decision: Decision, args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any
    ) -> Any:
        stack = decision.stacks.get(callable(grid))
        if stack is None:
            stack = self._stack_for(decision, callable(grid), args, kwargs)
        ticket = Ticket(grid, decision)
        try:
            # Triton's tuner keeps the arguments of a launch in itself: one launch at a time.
            with self._lock:
                result = stack.run(*args, grid=ticket, warmup=False, **kwargs)
                self.tuned = stack if hasattr(stack, "best_config") else None
                return result
        except (Fallback, Unusable):
            # Triton's tuner lets go of the arguments only after a launch that succeeds.
            stack.nargs = None
            raise
        except Exception as error:
            stack.nargs = None
            # A hook of the user's fails for the original as well and is reported from there.
            text = f"tuning failed: {type(error).__name__}: {error}"
            raise Fallback("launch-failed", text) from error

    def _stack_for(self, decision: Decision, follows: bool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The decorators to launch through; raises `Fallback` if they leave no config."""
        if self.stack.known and self.stack.tuner is None:
            key: Any = None
            measurable, chosen = True, None
        else:
            assert decision.guard is not None
            views = decision.guard.filled.items()
            measurable = self._measurable(args, kwargs)
            chosen = None if measurable or not self.stack.known else choice_of_source(self.stack, args, kwargs)
            key = (follows, measurable, id(chosen), *((name, view.itemsize, view.transposed) for name, view in views))
        with self._lock:
            if key not in self._stacks:
                self._stacks[key] = self._build_stack(decision, follows, args, kwargs, measurable, chosen)
            decision.stacks[follows] = self._stacks[key]
        return decision.stacks[follows]

    @functools.cached_property
    def _repeats(self) -> Repeats:
        return Repeats(self.stack)

    def _measurable(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        return self._repeats.measurable(self._adapter.bind(args, kwargs)[0])

    def _build_stack(
        self,
        decision: Decision,
        follows: bool,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        measurable: bool,
        chosen: Any,
    ) -> Any:
        if self.stack.known and self.stack.tuner is None:
            return rebuild(self.stack, self._adapter, ())
        found = self._candidates(decision, follows, args, kwargs, None if chosen is None else [chosen])
        if not measurable:
            # With one config Triton's tuner measures nothing.
            found = found[:1]
        self.candidates = tuple(found)
        configs = [candidate.config for candidate in found]
        if self.stack.known:
            return rebuild(self.stack, self._adapter, configs)
        if any(config.pre_hook is not None for config in self.stack.opaque_configs):
            raise Fallback("unknown-config", "hooks of its configs are known to the original's decorators alone")
        bottom = heuristics_over(self.stack, self._adapter)
        return tuner_over(bottom, self._adapter.arg_names, configs, self._schedule.key) if configs else bottom

    def _candidates(
        self,
        decision: Decision,
        follows: bool,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        listed: Sequence[Any] | None = None,
    ) -> list[Candidate]:
        """The configs to choose among: the source's, or the `listed` ones of them, and ours."""
        assert decision.guard is not None
        if self.stack.tuner is None and (not self._schedule.configs or self._schedule.programs is not None):
            return []
        named, _ = self._adapter.bind(args, kwargs)
        given = self._given(args, kwargs)
        stack = self.stack if self.stack.known else Stack((), self.stack.kernel, True)
        source = listed if listed is not None else self.stack.tuner.configs if self.stack.known else ()
        # What a config's hook does to the descriptors of a launch is done when the config is tried.
        pending = {name: None for name, value in named.items() if is_descriptor(value)}
        return candidates(
            self._schedule,
            self._boxes,
            decision.guard.filled,
            lambda config: {
                **named,
                **stack.complete(given, config),
                **(pending if config.pre_hook is not None else {}),
            },
            source,
            grid_follows=follows,
            # Where the source's bits are wanted, so are its tiles.
            own_tiles=current() != "bitwise",
        )

    def _first_config(self, decision: Decision, follows: bool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if self.stack.known and self.stack.tuner is None:
            return None
        found = self._candidates(decision, follows, args, kwargs)
        return found[0].config if found else None

    def _examine(self) -> Fallback | None:
        """Why no launch of this kernel can be specialized. The result stands until `reset`."""
        with self._lock:
            refusal = self._blanket_refusal()
            if refusal is not None:
                self._tell(refusal)
            else:
                self._adapter.preference = self.chooser.read()
            self._examined = True
            return refusal

    def _blanket_refusal(self) -> Fallback | None:
        if (setting := switches.disabled(self.name)) is not None:
            return Fallback("disabled", f"switched off by {setting}")
        kernel = self.stack.kernel
        if kernel is None:
            return Fallback("interpreted", "there is no jit function to replace, as under TRITON_INTERPRET=1")
        if (strange := self.stack.strange) is not None:
            kind = type(strange).__qualname__
            return Fallback("unknown-decorator", f"a {kind} stands around it, which may do more than launch it")
        if self._fingerprint is None:
            return None
        try:
            live = fingerprint_of(kernel)
        except Exception as error:
            return Fallback("stale", f"the fingerprint of {self.name} cannot be computed: {error}")
        if live == self._fingerprint:
            return None
        path = kernel.fn.__code__.co_filename
        text = (
            f"{self.name} in {path}, its helpers or its constants changed since it was converted; "
            f"convert again with: tlxify convert --write {path}"
        )
        if switches.stale_is_error():
            raise StaleKernelError(text)
        return Fallback("stale", text)

    def _tell(self, refusal: Fallback) -> Fallback:
        if self.counters.told(refusal.code):
            return refusal
        level = logging.WARNING if refusal.code in LOUD else logging.INFO
        self.counters.tell(refusal.code, f"the original runs: {refusal}", level)
        return refusal


def _as_config(config: Any) -> Any:
    """A `triton.Config` as it is; a mapping as the config it spells."""
    if not isinstance(config, Mapping):
        return config
    return config_of(config)
