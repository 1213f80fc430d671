"""The object a kernel's name is bound to: the original to everyone who looks, either kernel to whoever launches.

It answers `isinstance` as the original does (Triton's code generator, its dependency hash and torch's Dynamo all ask
for a `JITFunction` or an `Autotuner`). So, as a helper of another jit function, and in a program that torch records,
the name means the original, source and hash included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tlx.launch import chip
from tlx.launch.attributes import ANSWERED, REFUSED
from tlx.launch.dispatcher import HOPPER_PROCESSORS, TRACING, Dispatcher
from tlx.launch.schedule import Dispatch, Schedule
from tlx.launch.tuning import Boxes, Candidate

__all__ = ["Specialized", "specialized"]

#: The names that are the proxy's own.
OWN = ("_dispatcher", "_launch", "run")
#: What identifies a function, copied so that it is found where Python looks first.
IDENTITY = ("__doc__", "__module__", "__name__", "__qualname__")


class Specialized:
    """A kernel that runs specialized where its guard allows, and as it was written everywhere else."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        own = self.__dict__
        own["_dispatcher"] = dispatcher
        own["run"] = dispatcher.run
        own["_launch"] = dispatcher.launch
        for name in IDENTITY:
            if hasattr(dispatcher.original, name):
                own[name] = getattr(dispatcher.original, name)

    @property
    def original(self) -> Any:
        """The kernel as it was written, with its decorators."""
        return self._dispatcher.original

    @property
    def converted(self) -> Any:
        """The specialized kernel."""
        return self._dispatcher.converted

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The configs last given to the tuner; those we added are marked."""
        found: tuple[Candidate, ...] = self._dispatcher.candidates
        return found

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        launch = self._launch
        return lambda *args, **kwargs: launch(args, kwargs, grid)

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compile for these arguments without launching: either kernel; the original is what it returns."""
        return self._dispatcher.warmup(*args, grid=grid, **kwargs)

    def resolve(
        self, *args: Any, grid: Any, config: Any = None, processors: int = HOPPER_PROCESSORS, **kwargs: Any
    ) -> Dispatch:
        """What this launch would run on a Hopper with so many `processors` (SMs), without running anything.

        `config` is a `triton.Config` or a mapping in the source's terms (constexprs, `num_warps`, `num_stages`); by
        default the first that can be specialized. Neither this machine's chip nor any cache is asked.
        """
        dispatcher: Dispatcher = self._dispatcher
        return dispatcher.resolve(*args, grid=grid, config=config, processors=processors, **kwargs)

    def reset(self) -> None:
        """Forget all decisions and tuned configs; the next launch reads the switches and the source again."""
        self._dispatcher.reset()

    # Not a method of the class but of every instance: `isinstance` asks the instance for its `__class__`.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._dispatcher.original)

    def __getattr__(self, name: str) -> Any:
        if name in REFUSED:
            raise AttributeError(f"{name}: {REFUSED[name]}")
        dispatcher = self.__dict__["_dispatcher"]
        if name in ANSWERED and dispatcher.tuned is not None:
            return getattr(dispatcher.tuned, name)
        if chip.tracing():
            dispatcher.counters.tell(TRACING.code, f"the original runs: {TRACING}")
        return getattr(dispatcher.original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OWN:
            raise AttributeError(f"{name} belongs to the launcher and cannot be set")
        setattr(self._dispatcher.original, name, value)
        self._dispatcher.reset()

    def __delattr__(self, name: str) -> None:
        delattr(self._dispatcher.original, name)
        self._dispatcher.reset()

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._dispatcher.original), *dir(type(self))})

    def __repr__(self) -> str:
        return f"Specialized({self._dispatcher.original!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(REFUSED["__reduce_ex__"])


class _Callable(Specialized):
    """For originals that are callable, if only to say that a kernel cannot be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._dispatcher.original(*args, **kwargs)


def specialized(
    original: Any,
    converted: Any,
    *,
    guard: Callable[..., Mapping[str, Any]],
    boxes: Boxes,
    schedule: Schedule,
    fingerprint: str | None,
) -> Specialized:
    """Bind a kernel to its conversion.

    `original` is a jit function in any stack of decorators, or what an earlier `specialized` returned (it is replaced).
    `converted` is a `tlx.jit` function with the source's parameters (minus the operands that became descriptors), the
    names that `guard` returns, `STAGES`, `CONSUMERS`, `CONSUMER_WARPS`, `CONSUMER_REGISTERS`, and, if `schedule` says
    persistent, `GRID_0` and so on.

    `guard` is called with the source's arguments by name. It returns the converted kernel's further arguments, of which
    each `TmaView` becomes a host descriptor, or raises `Fallback`. `boxes` is called with all arguments and constexprs
    of the source and `CONSUMERS`, and returns the `Box` of each descriptor; it may raise `Fallback` to leave a
    config to the original. `fingerprint` is what `fingerprint_of` gave at conversion; `None` turns the check off.
    """
    if type(original) in (Specialized, _Callable):
        original = original.original
    dispatcher = Dispatcher(original, converted, guard, boxes, schedule, fingerprint)
    return (_Callable if callable(original) else Specialized)(dispatcher)
