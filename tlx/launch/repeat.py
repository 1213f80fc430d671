"""Which configs may be measured, where measuring runs the kernel again and again on the caller's own memory.

Triton's tuner measures only where there is a choice: with one config it launches, once. Ours has configs to try besides
the source's, and decorators built anew, which forget what the source's tuner has found. So it may measure only

* a kernel that leaves the same when it runs twice: it stores, through pointers that it does not read by, to memory
  that no other argument reads; or whatever else it changes, the tuner restores (`restore_value`, or `reset_to_zero`
  where the source's own tuner clears it too);
* if measuring calls no hook of the user's that the launch of the source would not have called.

Elsewhere the source's own tuner measures, where it would, and what it chose is launched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner, Heuristics

from tlx.launch.guard import Fallback
from tlx.launch.pointers import base_of, is_memory
from tlx.launch.routes import tuning_key
from tlx.launch.stack import Stack
from tlx.launch.writes import Access, accesses

__all__ = ["Repeats", "choice_of_source"]


class Repeats:
    """What running a kernel again does to memory."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        try:
            found = accesses(stack.kernel)
        except Exception:
            # Text that cannot be read may do anything.
            found = frozenset({(Access.UPDATE, frozenset())})
        self._targets = {target for _, target in found}
        self._writes = any(access is not Access.LOAD for access, _ in found)
        self._read, self._stored, self._updated = (
            _all(target for access, target in found if access is wanted)
            for wanted in (Access.LOAD, Access.STORE, Access.UPDATE)
        )

    def measurable(self, named: Mapping[str, Any]) -> bool:
        """Whether a tuner of ours may measure launches with these arguments, by name, on their own memory."""
        tuner = self._stack.tuner
        if sum(type(layer) is Autotuner for layer in self._stack.layers) > 1:
            return False
        changed = self._changed(named)
        if tuner is None or not self._stack.known:
            return changed == set()
        alone = len(tuner.configs) == 1
        # From Triton 3.8 on, what pruning leaves alone is not measured either.
        prunes = tuner.early_config_prune is not None or tuner.perf_model is not None
        custom = tuner.user_defined_pre_hook or tuner.user_defined_post_hook
        if (custom or tuner.reset_to_zero) and (alone or prunes):
            return False
        if alone and tuner.configs[0].pre_hook is not None:
            return False
        return changed is not None and (
            not changed or (not custom and changed <= {*tuner.restore_value, *tuner.reset_to_zero})
        )

    def _changed(self, named: Mapping[str, Any]) -> set[str] | None:
        """Tensors that a second launch may leave otherwise than the first; `None`: memory of no argument may be."""
        if not self._writes:
            return set()
        tensors = {name: base_of(value) for name, value in named.items() if is_memory(value)}
        # What is accessed through a pointer that a launch does not have is not accessed.
        known = {*tensors, *(name for name, value in named.items() if value is None)}
        if any(target.isdisjoint(known) for target in self._targets):
            return None
        read = {_memory_of(tensors[name]) for name in self._read & tensors.keys()}
        stored = {name for name in self._stored & tensors.keys() if _memory_of(tensors[name]) in read}
        return stored | (self._updated & tensors.keys())


def choice_of_source(stack: Stack, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The config that the source's own tuner launches these arguments with.

    Raises `Fallback` with code `unrepeatable` where it has yet to measure: it does so when the original runs.
    """
    tuners = [layer for layer in stack.layers if type(layer) is Autotuner]
    if len(tuners) > 1:
        raise Fallback("unrepeatable", "a tuner inside another measures what must not run twice")
    (tuner,) = tuners
    if len(tuner.configs) == 1:
        return tuner.configs[0]
    named = {**dict(zip(tuner.arg_names, args, strict=False)), **kwargs}
    for layer in stack.layers:
        if layer is tuner:
            break
        if type(layer) is Heuristics:
            for name, heuristic in layer.values.items():
                named[name] = heuristic(dict(named))
    chosen = tuner.cache.get(tuning_key(tuner, named))
    if chosen is None:
        raise Fallback("unrepeatable", "running it twice may change what it leaves, so the source's own tuner measures")
    return chosen


def _all(targets: Iterable[frozenset[str]]) -> set[str]:
    return {name for target in targets for name in target}


def _memory_of(tensor: Any) -> int:
    """What tells allocations apart; where a tensor does not tell its own, its address."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except AttributeError:
        return int(tensor.data_ptr())
