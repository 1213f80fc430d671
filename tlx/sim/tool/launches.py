"""Launches of a user's program, caught: ``kernel[grid](…)`` is simulated instead of compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from triton import testing
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

#: what a caught launch is handed to: kernel, grid, positional and named arguments
Handler = Callable[[JITFunction, Any, tuple[Any, ...], dict[str, Any]], None]


def _run(handler: Handler) -> Callable[..., None]:
    def run(self: JITFunction, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
        if not warmup:
            handler(self, grid, args, kwargs)

    return run


def _tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
    """An autotuned launch runs its first config that the tuner would try: speed is not what is being looked at."""
    self.nargs = dict(zip(self.arg_names, args, strict=False))
    config = (self.prune_configs(kwargs) if len(self.configs) > 1 else self.configs)[0]
    self.best_config = config
    if config.pre_hook is not None:
        config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
    self.nargs = None
    return self.fn.run(*args, **kwargs, **config.all_kwargs())


def _once(fn: Callable[[], Any], *args: Any, **kwargs: Any) -> float:
    """``do_bench``: the function runs once; there is no time to tell."""
    fn()
    return float("nan")


@contextmanager
def caught(handler: Handler) -> Iterator[None]:
    """Every launch of a kernel inside goes to ``handler``; benchmarks run what they measure once."""
    changes = [
        (JITFunction, "run", _run(handler)),
        (Autotuner, "run", _tuned),
        (testing, "do_bench", _once),
        (testing, "do_bench_cudagraph", _once),
    ]
    saved = [(owner, name, owner.__dict__[name]) for owner, name, _ in changes]
    for owner, name, new in changes:
        setattr(owner, name, new)
    try:
        yield
    finally:
        for owner, name, old in saved:
            setattr(owner, name, old)
