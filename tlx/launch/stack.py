"""The decorators around a jit function: taking the stack apart, and building it again around something else.

Triton's own tuner and heuristics are rebuilt, so that the user's keys, pruning and hooks see the arguments and configs
they were written for. Anything else is opaque: it stays on the original, and what configs it tries is unknown. Of the
opaque ones only those may be gone past that are agreed to hand on what they are given (`HANDING_ON`); another might
change arguments, or do something before or after a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tlx.launch import chip
from tlx.launch.guard import Fallback

__all__ = ["Stack", "heuristics_over", "layers_of", "rebuild", "take_apart", "tuner_over"]


#: Classes, by name, that choose among configs and remember what was compiled, and launch with the arguments that they
#: are given: of flag-gems, and of flash-linear-attention. The converter knows the decorators that make them.
HANDING_ON = {"LibEntry", "LibTuner", "CachedAutotuner"}


@dataclass(frozen=True, slots=True)
class Stack:
    """A decorated kernel, outermost layer first."""

    layers: tuple[Any, ...]
    #: The jit function at the bottom; `None` where there is none, as under `TRITON_INTERPRET=1`.
    kernel: Any
    #: Whether every layer is one of Triton's own.
    known: bool

    @property
    def tuner(self) -> Any:
        """The outermost of Triton's tuners, or `None`."""
        return next((layer for layer in self.layers if type(layer) is Autotuner), None)

    @property
    def strange(self) -> Any:
        """The outermost layer of which nobody knows what it does with a launch, or `None`."""
        return next(
            (
                layer
                for layer in self.layers
                if type(layer) not in (Autotuner, Heuristics)
                and HANDING_ON.isdisjoint(kind.__name__ for kind in type(layer).__mro__)
            ),
            None,
        )

    @property
    def opaque_configs(self) -> list[Any]:
        """The configs of tuners that cannot be rebuilt."""
        tuners = [layer for layer in self.layers if isinstance(layer, Autotuner)]
        return [] if self.known else [config for tuner in tuners for config in tuner.configs]

    @property
    def agreed(self) -> dict[str, Any]:
        """The constexprs that all configs of the tuner set to one value: a launch has them, whichever is chosen."""
        configs = [] if self.tuner is None else self.tuner.configs
        return {
            name: value
            for name, value in (configs[0].kwargs.items() if configs else ())
            if all(name in config.kwargs and config.kwargs[name] == value for config in configs)
        }

    def complete(self, arguments: Mapping[str, Any], config: Any = None) -> dict[str, Any]:
        """What reaches the jit function when the outermost tuner picks `config`: its entries and all heuristics."""
        named = dict(arguments)
        if self.tuner is None and config is not None:
            named.update(config.all_kwargs())
        for layer in self.layers:
            if type(layer) is Heuristics:
                for name, heuristic in layer.values.items():
                    named[name] = heuristic(dict(named))
            elif layer is self.tuner and config is not None:
                named.update(config.all_kwargs())
        return named


def take_apart(decorated: Any) -> Stack:
    """The layers of a decorated kernel down to its jit function; each holds the next one as `fn`."""
    layers: list[Any] = []
    known = True
    while not isinstance(decorated, JITFunction):
        inner = getattr(decorated, "fn", None)
        if inner is None:
            return Stack(tuple(layers), None, False)
        known = known and type(decorated) in (Autotuner, Heuristics)
        layers.append(decorated)
        decorated = inner
    return Stack(tuple(layers), decorated, known)


def layers_of(stack: Any) -> list[Any]:
    """Everything from the outermost layer of a rebuilt stack down."""
    found = []
    while stack is not None:
        found.append(stack)
        stack = getattr(stack, "fn", None) if type(stack) in (Autotuner, Heuristics) else None
    return found


def rebuild(stack: Stack, bottom: Any, configs: Sequence[Any]) -> Any:
    """The layers of a known `stack` around `bottom`, its tuner choosing among `configs`."""
    rebuilt = bottom
    for layer in reversed(stack.layers):
        if type(layer) is Heuristics:
            rebuilt = Heuristics(rebuilt, layer.arg_names, layer.values)
        elif layer is stack.tuner:
            rebuilt = _like(layer, rebuilt, configs)
        else:
            # A tuner inside another: the outer one passes its choice down, the inner one keeps its own.
            rebuilt = _like(layer, rebuilt, layer.configs)
    return rebuilt


def heuristics_over(stack: Stack, bottom: Any) -> Any:
    """The heuristics of a `stack` that is not known, which are, around `bottom`."""
    for layer in reversed(stack.layers):
        if type(layer) is Heuristics:
            bottom = Heuristics(bottom, layer.arg_names, layer.values)
    return bottom


def tuner_over(bottom: Any, arg_names: Sequence[str], configs: Sequence[Any], key: Sequence[str]) -> Any:
    """Triton's tuner around `bottom` for a kernel whose own tuner is unknown."""
    benchmark = _unless_capturing(lambda: driver.active.get_benchmarker())
    return Autotuner(bottom, list(arg_names), list(configs), list(key), None, None, do_bench=benchmark)


def _like(tuner: Any, bottom: Any, configs: Sequence[Any]) -> Any:
    return Autotuner(
        bottom,
        tuner.arg_names,
        list(configs),
        tuner.keys,
        tuner.reset_to_zero,
        tuner.restore_value,
        pre_hook=tuner.pre_hook if tuner.user_defined_pre_hook else None,
        post_hook=tuner.post_hook if tuner.user_defined_post_hook else None,
        prune_configs_by={
            "perf_model": tuner.perf_model,
            "top_k": tuner.configs_top_k,
            "early_config_prune": tuner.early_config_prune,
        },
        # Covers the deprecated ways to set one as well: the tuner has turned them into a benchmark function.
        do_bench=_unless_capturing(lambda: tuner.do_bench),
        cache_results=tuner.cache_results,
    )


def _unless_capturing(benchmark: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """A benchmark function that refuses to measure while the stream records a graph."""

    def guarded(call: Callable[[], Any], quantiles: Any) -> Any:
        if chip.capturing():
            raise Fallback(
                "capture", "the best config is not known yet, and nothing may be measured under graph capture"
            )
        return benchmark()(call, quantiles=quantiles)

    return guarded
