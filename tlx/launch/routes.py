"""Where a launch seen before goes: past decorators that would change nothing, straight to its compiled kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner

from tlx.launch.express import Express

__all__ = ["Choice", "Route", "asked", "choice_of"]

Extents = tuple[int, ...]


def asked(
    grid: Any,
    meta: Mapping[str, Any],
    tensors: Sequence[tuple[str, int]],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Extents:
    """The extents of a source's grid. A callable one gets all arguments by name, as from Triton.

    `meta` are those that are no tensors; `tensors` are names and positions in `args`, -1 for those in `kwargs`.
    """
    if callable(grid):
        named = dict(meta)
        for name, position in tensors:
            named[name] = args[position] if position >= 0 else kwargs[name]
        grid = grid(named)
    return tuple(grid)


class Choice:
    """The config that one of Triton's tuners has settled on for launches of one description."""

    __slots__ = ("_key", "_tuner", "config")

    def __init__(self, tuner: Any, key: tuple[Any, ...], config: Any) -> None:
        self._tuner, self._key, self.config = tuner, key, config

    def holds(self) -> bool:
        """Whether the tuner would choose it again and do nothing besides."""
        tuner, config = self._tuner, self.config
        configs = tuner.configs
        chosen = tuner.cache.get(self._key) if len(configs) > 1 else configs[0]
        return chosen is config and config.pre_hook is None and "run" not in vars(tuner)

    def note(self) -> None:
        """Leave the tuner as a launch through it would."""
        self._tuner.best_config = self.config


def choice_of(tuner: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Choice | None:
    """What `tuner`, one of Triton's, has settled on for these arguments; `None` if that cannot be told."""
    if type(tuner) is not Autotuner:
        return None
    named = {**dict(zip(tuner.arg_names, args, strict=False)), **kwargs}
    named = {name: value for name, value in named.items() if name in tuner.arg_names}
    # As in `Autotuner.run`.
    key = [named[name] for name in tuner.keys if name in named]
    key += [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
    config = getattr(tuner, "best_config", None)
    found = Choice(tuner, tuple(key), config)
    return found if config is not None and found.holds() else None


class Route:
    """A launch of one description, decided in every respect but the grid."""

    __slots__ = ("_choice", "_express", "_failed", "_fold", "_meta", "_source", "_tensors")

    def __init__(
        self,
        express: Express,
        source: Any,
        choice: Choice | None,
        meta: Mapping[str, Any],
        tensors: Sequence[tuple[str, int]],
        fold: Callable[[Extents], Extents] | None = None,
        failed: Callable[[Exception], Exception] | None = None,
    ) -> None:
        self._express = express
        #: The user's jit function, whose hooks have to run.
        self._source = source
        self._choice = choice
        #: What the grid may ask for: see `asked`.
        self._meta, self._tensors = meta, tensors
        #: From the source's grid to the kernel's; what to raise where the launch itself fails.
        self._fold, self._failed = fold, failed

    @property
    def tuned(self) -> bool:
        """Whether a tuner has chosen the config."""
        return self._choice is not None

    def holds(self) -> bool:
        """Whether the long way would end in the same launch and nothing else."""
        choice = self._choice
        return (choice is None or choice.holds()) and not self._source.pre_run_hooks and self._express.holds()

    def launch(self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Launch; the arguments are those of the description, so only a callable grid looks at them."""
        extents = asked(grid, self._meta, self._tensors, args, kwargs)
        launched = extents if self._fold is None else self._fold(extents)
        if self._choice is not None:
            self._choice.note()
        if not launched:
            return None
        try:
            return self._express.launch(launched, extents)
        except Exception as error:
            if self._failed is None:
                raise
            raise self._failed(error) from error
