"""Asking the guard with what reaches the kernel, which decorators may have a say in.

Heuristics and configs set arguments that a call does not name, or names otherwise. Where the guard reads none of those
it is asked once for each description of a launch; where it does, once more for each config and whatever heuristics say.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner, Heuristics

from tlx.launch.guard import Fallback
from tlx.launch.pointers import Bounded, base_of, layout_of, noting_storage, storage_of
from tlx.launch.prepare import Guarded, guarded
from tlx.launch.schedule import Schedule
from tlx.launch.stack import Stack

__all__ = ["Guarding"]

#: What generated guards call the arguments that they do not read.
UNREAD = "_"


class Guarding:
    """The guard of one conversion, under the decorators of its source."""

    def __init__(self, guard: Callable[..., Mapping[str, Any]], stack: Stack, schedule: Schedule) -> None:
        self._guard = guard
        self._stack = stack
        #: Constexprs that a launch has whichever config is chosen.
        self._agreed = stack.agreed
        #: Whether what the guard reads depends on the config, or on heuristics.
        self.varies = bool(_read(guard, _varying(stack, schedule, self._agreed)))

    def ask(self, named: Mapping[str, Any], tensors: Sequence[str]) -> Guarded:
        """What the guard says to arguments of the source, by name, as they reach it; the answer holds the tensors.

        Raises `Fallback`.
        """
        try:
            return guarded(self._guard(**named), named, tensors)
        except Fallback:
            raise
        except Exception as error:
            # Wrong arguments are for the original to complain about; a fault of the guard must not stop a program.
            raise Fallback("guard-error", f"the guard failed: {type(error).__name__}: {error}") from error

    def first(
        self, named: Mapping[str, Any], tensors: Sequence[str], reaching: Callable[[Any], Mapping[str, Any]]
    ) -> Guarded:
        """What it says to a call that gives `named`: under the first config that it allows.

        `reaching` gives the arguments that reach the kernel under a config. Raises what the first config raised where
        none is allowed.
        """
        if not self.varies:
            return self.ask({**named, **self._agreed}, tensors)
        tuner = self._stack.tuner
        refusal = None
        for config in (None,) if tuner is None else tuner.configs:
            try:
                return self.ask(_reached(reaching, config), tensors)
            except Fallback as found:
                refusal = refusal or found
        assert refusal is not None
        raise refusal

    def noting(
        self, found: Callable[[], Guarded], named: Mapping[str, Any], tensors: Sequence[str], positional: Sequence[str]
    ) -> tuple[Guarded, list[Bounded]]:
        """What `found` finds without a hold on a tensor, and the tensors whose storage the guard went by."""
        with noting_storage() as noted:
            answer = found().detached()
        bounded = set(map(id, noted))
        positions = {name: position for position, name in enumerate(positional)}
        storages: list[Bounded] = []
        for name in tensors:
            tensor = base_of(named[name])
            if id(tensor) in bounded:
                storages.append((name, positions.get(name, -1), storage_of(tensor), layout_of(tensor)))
        return answer, storages


def _reached(reaching: Callable[[Any], Mapping[str, Any]], config: Any) -> Mapping[str, Any]:
    try:
        return reaching(config)
    except Exception as error:
        raise Fallback("guard-error", f"the heuristics failed: {type(error).__name__}: {error}") from error


def _varying(stack: Stack, schedule: Schedule, agreed: Mapping[str, Any]) -> set[str]:
    """The arguments that decorators set, but for those that are the same under all configs."""
    by_heuristics = {name for layer in stack.layers if type(layer) is Heuristics for name in layer.values}
    tuners = [layer for layer in stack.layers if isinstance(layer, Autotuner)]
    by_configs = {name for tuner in tuners for config in tuner.configs for name in config.all_kwargs()}
    ours = {name for entry in schedule.configs for name, value in entry.items() if agreed.get(name, value) != value}
    return by_heuristics | (by_configs - agreed.keys()) | ours


def _read(guard: Callable[..., Any], names: set[str]) -> set[str]:
    """Those of `names` that a guard may read."""
    parameters = inspect.signature(guard).parameters.values()
    if any(one.kind is one.VAR_KEYWORD and one.name != UNREAD for one in parameters):
        return names
    return names & {one.name for one in parameters}
