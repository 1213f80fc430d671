"""Puts the recorder in the way of every launch, as soon as the program imports what launches.

Triton's launch hooks tell a name and a stream and no arguments, so methods themselves are wrapped: the one by which
Triton describes a launch to whoever hooked in, for there a few numbers tell launches apart and no arguments need to be
passed on. Nothing is imported on the program's behalf: environment variables that it sets before it imports Triton
still work.
"""

from __future__ import annotations

import atexit
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from threading import get_ident
from types import ModuleType
from typing import Any

from .describe import Describe, describer, form_of
from .facts import is_descriptor
from .recorder import Kernel, Recorder, Slot

#: Where the parts of the record go, and how much of it there may be: a JSON object.
SETTINGS = "TLXIFY_CAPTURE"
#: Options of a launch that are recorded.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def begin() -> None:
    """Starts recording if the environment says so."""
    text = os.environ.get(SETTINGS)
    if not text:
        return
    settings = json.loads(text)
    recorder = Recorder(
        Path(settings["folder"]),
        kernels=frozenset(settings.get("kernels", ())),
        limit=int(settings["limit"]),
        data=bool(settings.get("data")),
    )
    atexit.register(recorder.finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recorder.renew)
    install(recorder)


def install(recorder: Recorder) -> None:
    """Wraps what launches in modules that are there, and in the others when they are imported."""
    finder = _Finder(recorder)
    for name in WATCHED:
        if name in sys.modules:
            finder.wrap(sys.modules[name])
    sys.meta_path.insert(0, finder)


class Seen:
    """What the threads of one process have seen of one compiled or converted kernel: slots by thread and key."""

    __slots__ = ("describe", "forms", "generation", "kernel", "key", "options", "threads")

    def __init__(self, recorder: Recorder, kernel: Kernel | None) -> None:
        self.generation = recorder.generation
        #: None for a kernel that is not recorded.
        self.kernel = kernel
        self.threads = recorder.table()
        #: Of a compiled kernel: which of its arguments tell launches apart; options it was built with.
        self.key: Callable[[tuple[Any, ...]], Any] = tuple
        self.options: dict[str, Any] = {}
        #: Of a converted kernel: how to describe a call, by its form.
        self.forms: dict[Any, Describe] = {}
        self.describe: Describe = _unknown


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
        numbers = [
            index
            for index, value in enumerate(args)
            if isinstance(value, int | float) and (index,) not in fixed and not isinstance(value, bool)
        ]
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


def watch_dispatch(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """For the launcher of converted kernels: (dispatcher, args, kwargs, grid). What it launches is not counted twice.

    It is written down before it starts, so that one which crashes the program is in the record; with a grid function,
    when that is called.
    """
    hushed = recorder.hushed

    def launch(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any) -> Any:
        ident = get_ident()
        if ident in hushed:
            return original(self, args, kwargs, grid)
        hushed.add(ident)
        try:
            try:
                seen = self._captured
                slot = seen.threads[ident][seen.describe(args, kwargs, grid)]
            except Exception:
                seen = getattr(self, "_captured", None)
                if seen is None or seen.generation != recorder.generation:
                    function = self.stack.kernel
                    seen = self._captured = Seen(recorder, None if function is None else recorder.meet(function))
                if seen.kernel is not None:
                    grid = _noting(recorder, seen, args, kwargs, grid)
                return original(self, args, kwargs, grid)
            cell = slot.cell
            cell[0] = count = cell[0] + 1
            if count < slot.due:
                return original(self, args, kwargs, grid)
            cell[0] -= 1  # it is counted again, as whatever it is
            noting = _noting(recorder, seen, args, kwargs, grid, again=True)
            return _dispatched(recorder, slot, original, (self, args, kwargs, noting))
        finally:
            hushed.discard(ident)

    return launch


def _dispatched(recorder: Recorder, slot: Slot, original: Callable[..., Any], call: tuple[Any, ...]) -> Any:
    """Makes a launch through a binding, timed if that is due."""
    kind = recorder.closely(slot, lambda: slot)
    return original(*call) if kind is None else recorder.timed(kind, lambda: original(*call))


def _noting(
    recorder: Recorder, seen: Seen, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any, *, again: bool = False
) -> Any:
    """The grid of a launch that `seen.describe` does not recognise; the launch is recorded once its extents are known.

    Makes `seen.describe` fit. With `again`, a launch that is known is looked at nevertheless.
    """
    kernel = seen.kernel
    assert kernel is not None

    def settle(extents: Any) -> Any:
        try:
            slot = recorder.slot(kernel, kernel.signature.named(args, kwargs), extents, "tlx", {})
            slot.cell[0] += 1
            slots.setdefault(key, slot)
        except Exception as error:
            recorder.trouble(f"a launch of {kernel.function!r} could not be recorded: {error!r}")
        return extents

    try:
        form = form_of(args, kwargs, grid)
        if form not in seen.forms:
            seen.forms[form] = describer(args, kwargs, grid, len(seen.forms))
        seen.describe = seen.forms[form]
        key = seen.describe(args, kwargs, grid)
        slots = seen.threads.setdefault(get_ident(), {})
        if (slot := slots.get(key)) is not None and not again:
            slot.cell[0] += 1
            return grid
    except Exception as error:
        recorder.trouble(f"a launch of {kernel.function!r} could not be described: {error!r}")
        return grid
    if not callable(grid):
        return settle(grid)
    asked = False

    def noted(meta: Any) -> Any:
        nonlocal asked
        extents = grid(meta)
        if not asked:
            asked = True
            settle(extents)
        return extents

    return noted


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


def _unknown(args: tuple[Any, ...], kwargs: Mapping[str, Any], grid: Any) -> tuple[Any, ...]:
    raise KeyError


Wrap = Callable[[Callable[..., Any], Recorder], Callable[..., Any]]
#: Module → class, and how each of some methods is wrapped.
WATCHED: dict[str, tuple[str, tuple[tuple[str, Wrap], ...]]] = {
    "triton.compiler.compiler": ("CompiledKernel", (("launch_metadata", watch_launched),)),
    "triton.runtime.interpreter": ("InterpretedFunction", (("run", watch_interpreted),)),
    "triton.runtime.autotuner": ("Autotuner", (("_bench", watch_trial),)),
    "tlx.launch.dispatcher": ("Dispatcher", (("launch", watch_dispatch),)),
}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the others find, and has it wrapped once it is executed."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname not in WATCHED or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        if spec is None or spec.loader is None:
            return spec
        execute, loader = spec.loader.exec_module, spec.loader

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self.wrap(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def wrap(self, module: ModuleType) -> None:
        """Wraps the methods, if this version of the module has them."""
        name, methods = WATCHED[module.__name__]
        owner = getattr(module, name, None)
        for method, wrap in methods:
            original = getattr(owner, method, None)
            if original is None:
                self._recorder.trouble(f"{module.__name__} has no {name}.{method}: its launches are not recorded")
            else:
                setattr(owner, method, functools.wraps(original)(wrap(original, self._recorder)))
