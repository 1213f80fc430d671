"""Launches that Triton makes: of compiled kernels, of its interpreter, and trials of its tuner, which do not count."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from operator import itemgetter
from threading import get_ident
from typing import Any

from .facts import is_descriptor, is_number
from .recorder import Recorder, Slot
from .seen import Seen

#: Options of a launch that are recorded.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def watch_launched(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """For `CompiledKernel.launch_metadata`: (self, grid, stream, one value per parameter).

    Triton calls it right before each launch, to describe the launch to hooks. Types, alignment and compile-time values
    are settled there: grid and numbers tell launches apart. Where nobody hooked in, the description is not made, which
    costs more than counting.
    """
    hushed = recorder.hushed
    knobs = importlib.import_module("triton.knobs")

    def launch_metadata(self: Any, grid: Any, stream: Any, *args: Any) -> Any:
        ident = get_ident()
        if not hushed or ident not in hushed:
            try:
                seen = self._captured
                key = grid, *seen.key(args)
                slot = seen.threads[ident][key]
                cell = slot.cell
                cell[0] = count = cell[0] + 1
                if count >= slot.due:
                    _closely(recorder, self, slot, grid, args)
            except (AttributeError, KeyError, TypeError):
                _first(recorder, self, ident, grid, args)
        hook = knobs.runtime.launch_enter_hook
        if hook is None or not getattr(hook, "calls", True):
            return None
        return original(self, grid, stream, *args)

    return launch_metadata


def _first(recorder: Recorder, compiled: Any, ident: int, grid: Any, args: tuple[Any, ...]) -> None:
    """A launch that is not known: the first of its kind in this thread, or of all."""
    try:
        seen = getattr(compiled, "_captured", None)
        if seen is None or seen.generation != recorder.generation:
            seen = compiled._captured = _seen(recorder, compiled, args)
        if seen.kernel is not None:
            slot = _look(recorder, seen, grid, args)
            slot.cell[0] += 1
            key = tuple(grid), *seen.key(args)
            seen.threads.setdefault(ident, {})[key] = slot
    except Exception as error:
        recorder.trouble(f"a launch of {compiled!r} could not be recorded: {error!r}")


def _seen(recorder: Recorder, compiled: Any, args: tuple[Any, ...]) -> Seen:
    """How launches of a compiled kernel are told apart: by the numbers that it was not compiled for."""
    source = compiled.src
    seen = Seen(recorder, recorder.meet(source.fn) if hasattr(source, "fn") else None)
    if seen.kernel is not None:
        fixed = set(getattr(source, "constants", ()))
        numbers = [index for index, value in enumerate(args) if is_number(value) and (index,) not in fixed]
        shaped = [index for index, value in enumerate(args) if is_descriptor(value)]
        # Of one place alone, a getter returns no tuple: ask for it twice.
        pick = itemgetter(*numbers, numbers[0]) if numbers else _none
        seen.key = pick if not shaped else lambda args: (*pick(args), *(tuple(args[index].shape) for index in shaped))
        metadata = compiled.metadata
        seen.options = {name: getattr(metadata, name) for name in OPTIONS if getattr(metadata, name, None) is not None}
    return seen


def _none(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return ()


def _look(recorder: Recorder, seen: Seen, grid: Any, args: tuple[Any, ...]) -> Slot:
    assert seen.kernel is not None
    named = dict(zip(seen.kernel.signature.names, args, strict=True))
    return recorder.slot(seen.kernel, named, grid, "triton", seen.options)


def _closely(recorder: Recorder, compiled: Any, slot: Slot, grid: Any, args: tuple[Any, ...]) -> None:
    """Has the launch that is about to happen looked at in full, and timed if that is due."""
    seen, run = compiled._captured, compiled._run
    found = recorder.closely(slot, lambda: _look(recorder, seen, grid, args))
    if found is None:
        return

    def once(*args: Any) -> Any:
        compiled._run = run
        return recorder.timed(found, lambda: run(*args))

    compiled._run = once


def watch_interpreted(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """For Triton's interpreter: (function, *args, grid, warmup, **kwargs). It takes its time, so may we."""

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        kernel = None if warmup or get_ident() in recorder.hushed else recorder.meet(self)
        if kernel is None:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        named = kernel.signature.named(args, kwargs)
        options = {name: kwargs[name] for name in OPTIONS if name in kwargs}

        def settle(extents: Any) -> Any:
            try:
                recorder.slot(kernel, named, extents, "interpreter", options).cell[0] += 1
            except Exception as error:
                recorder.trouble(f"a launch of {self!r} could not be recorded: {error!r}")
            return extents

        grid = (lambda meta, ask=grid: settle(ask(meta))) if callable(grid) else settle(grid)
        return original(self, *args, grid=grid, warmup=warmup, **kwargs)

    return run


def watch_trial(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """For a tuner's trials: they are launches, but not the program's."""
    hushed = recorder.hushed

    def trial(self: Any, *args: Any, **kwargs: Any) -> Any:
        ident = get_ident()
        if ident in hushed:
            return original(self, *args, **kwargs)
        hushed.add(ident)
        try:
            return original(self, *args, **kwargs)
        finally:
            hushed.discard(ident)

    return trial
