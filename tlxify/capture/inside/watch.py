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
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .bindings import watch_dispatch
from .compiled import watch_interpreted, watch_launched, watch_trial
from .recorder import Recorder

#: Where the parts of the record go, and how much of it there may be: a JSON object.
SETTINGS = "TLXIFY_CAPTURE"

Wrap = Callable[[Callable[..., Any], Recorder], Callable[..., Any]]
#: Module → class, and how each of some methods is wrapped.
WATCHED: dict[str, tuple[str, tuple[tuple[str, Wrap], ...]]] = {
    "triton.compiler.compiler": ("CompiledKernel", (("launch_metadata", watch_launched),)),
    "triton.runtime.interpreter": ("InterpretedFunction", (("run", watch_interpreted),)),
    "triton.runtime.autotuner": ("Autotuner", (("_bench", watch_trial),)),
    "tlx.launch.dispatcher": ("Dispatcher", (("launch", watch_dispatch),)),
}


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


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the others find, and has it wrapped once it is executed."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._looking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname not in WATCHED or fullname in self._looking:
            return None
        self._looking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking.discard(fullname)
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
