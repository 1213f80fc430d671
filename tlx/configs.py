"""``triton.Config(ctas_per_cga=...)`` and what becomes of it on a Triton that cannot launch such clusters."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from triton.runtime.autotuner import Config

from .builtin import TLXError
from .lowering import versions


def cluster_size(ctas_per_cga: Sequence[int] | None) -> int:
    """CTAs of a cluster given as ``(x, y, z)``.

    Raises:
        TLXError: it does not lie along the first axis of the grid, or is no power of two up to 16.
    """
    if ctas_per_cga is None:
        return 1
    shape = tuple(ctas_per_cga)
    size = math.prod(shape)
    if size != shape[0] or size < 1 or size & (size - 1) or size > 16:
        raise TLXError(f"ctas_per_cga must be (c, 1, 1) with c = 1, 2, 4, 8 or 16, not {shape}")
    return int(size)


def unsupported() -> str | None:
    """Why this Triton cannot compile kernels for clusters, or None."""
    return None if versions.CLUSTERS else versions.too_old("ctas_per_cga larger than (1, 1, 1)")


class ClusterConfig(Config):  # type: ignore[misc]
    """Triton's configuration, and how many CTAs form a cluster: ``ctas_per_cga=(c, 1, 1)``.

    The grid goes on counting CTAs and must be a multiple of ``c`` along its first axis.
    """

    def __init__(
        self, kwargs: dict[str, Any], *args: Any, ctas_per_cga: Sequence[int] | None = None, **options: Any
    ) -> None:
        super().__init__(kwargs, *args, **options)
        self.ctas_per_cga = None if cluster_size(ctas_per_cga) == 1 else tuple(ctas_per_cga or ())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.ctas_per_cga = state.get("ctas_per_cga")

    def all_kwargs(self) -> dict[str, Any]:
        """What the launch is given."""
        more = {} if self.ctas_per_cga is None else {"ctas_per_cga": self.ctas_per_cga}
        return {**super().all_kwargs(), **more}

    def __str__(self) -> str:
        return str(super().__str__()) + ("" if self.ctas_per_cga is None else f", ctas_per_cga: {self.ctas_per_cga}")


def dropping(stock: Callable[..., Any]) -> Callable[..., Any]:
    """``triton.autotune`` without configurations that this Triton cannot launch, and without unknown names in its key.

    One warning says how many were dropped; a tuner that would be left without any raises ``TLXError``.
    """

    def autotune(configs: Sequence[Any], key: Sequence[str], *args: Any, **options: Any) -> Any:
        kept = [config for config in configs if getattr(config, "ctas_per_cga", None) is None]
        reason = unsupported()
        if reason is not None and len(kept) < len(configs):
            if not kept:
                raise TLXError(f"none of the {len(configs)} configurations can be used: {reason}")
            left_out = len(configs) - len(kept)
            warnings.warn(f"{left_out} of {len(configs)} configurations are left out: {reason}", stacklevel=2)
            configs = kept

        def decorate(fn: Any) -> Any:
            return stock(configs, _known(key, fn), *args, **options)(fn)

        return decorate

    return autotune


def _known(key: Sequence[str], fn: Any) -> list[str]:
    """The names of a tuning key that are arguments; older releases, and the fork, pass over others in silence."""
    names = getattr(fn, "arg_names", None)
    unknown = [] if names is None else [name for name in key if name not in names]
    if unknown:
        warnings.warn(f"the tuning key of {fn} names no argument with {', '.join(unknown)}", stacklevel=3)
    return [name for name in key if name not in unknown]
