"""Where a launch seen before goes: past decorators that would change nothing, straight to its compiled kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner

from tlx.launch.express import Express
from tlx.launch.guard import Fallback

__all__ = ["Choice", "Follows", "Route", "asked", "choice_of", "tuning_key"]

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


class Follows:
    """What the grid of a launch must be under tiles that the source does not list.

    Nothing but the user's own grid says how programs and tiles belong together. It is asked twice: what it gives for
    these tiles and for tiles of the source's must both be what the plan takes it to compute.
    """

    __slots__ = ("_expected", "_listed", "_tensors", "_usual")

    def __init__(
        self,
        programs: Callable[..., tuple[int | None, ...]],
        meta: Mapping[str, Any],
        listed: Mapping[str, Any],
        tensors: Sequence[tuple[str, int]],
    ) -> None:
        #: Extents by the plan under these tiles, and under those of a config of the source.
        try:
            self._expected, self._usual = programs(**meta), programs(**{**meta, **listed})
        except Exception as error:
            raise Fallback("guard-error", f"the programs failed: {type(error).__name__}: {error}") from error
        self._listed, self._tensors = {**meta, **listed}, tensors

    def check(self, extents: Extents, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises `Fallback` with code `grid-follows` unless the source's grid, `extents` here, follows the tiles."""
        if not callable(grid):
            raise Fallback(
                "grid-follows", "a grid of fixed extents does not follow tiles that the source does not list"
            )
        usual = asked(grid, self._listed, self._tensors, args, kwargs)
        if not (_agree(extents, usual, self._expected) and _agree(usual, usual, self._usual)):
            known = [axis for axis in self._expected if axis is not None]
            text = f"the grid is {extents} under tiles that the source does not list; the plan expects {known}"
            raise Fallback("grid-follows", text)


def _agree(extents: Extents, usual: Extents, expected: Sequence[int | None]) -> bool:
    """Whether a grid has the extents that are expected, and where nothing is, its usual ones; missing ones are 1."""
    rank = max(len(extents), len(usual), len(expected))
    wanted = [*expected, *([None] * (rank - len(expected)))]
    found, other = ([*each, *([1] * (rank - len(each)))] for each in (extents, usual))
    return all(f == (o if w is None else w) for f, o, w in zip(found, other, wanted, strict=True))


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
    config = getattr(tuner, "best_config", None)
    found = Choice(tuner, tuning_key(tuner, named), config)
    return found if config is not None and found.holds() else None


def tuning_key(tuner: Any, named: Mapping[str, Any]) -> tuple[Any, ...]:
    """What one of Triton's tuners keeps its choice for these arguments under, as in `Autotuner.run`."""
    named = {name: value for name, value in named.items() if name in tuner.arg_names}
    key = [named[name] for name in tuner.keys if name in named]
    key += [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
    return tuple(key)


class Route:
    """A launch of one description, decided in every respect but the grid."""

    __slots__ = ("_choice", "_express", "_failed", "_fold", "_follows", "_meta", "_source", "_tensors")

    def __init__(
        self,
        express: Express,
        source: Any,
        choice: Choice | None,
        meta: Mapping[str, Any],
        tensors: Sequence[tuple[str, int]],
        fold: Callable[[Extents], Extents] | None = None,
        failed: Callable[[Exception], Exception] | None = None,
        follows: Follows | None = None,
    ) -> None:
        self._express = express
        #: The user's jit function, whose hooks have to run.
        self._source = source
        self._choice = choice
        #: What the grid may ask for: see `asked`.
        self._meta, self._tensors = meta, tensors
        #: From the source's grid to the kernel's; what to raise where the launch itself fails.
        self._fold, self._failed = fold, failed
        #: What the grid must be, where the tiles are none of the source's.
        self._follows = follows

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
        if self._follows is not None:
            self._follows.check(extents, grid, args, kwargs)
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
