"""``tlx.jit``: Triton's jit with our code generator behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

from triton.runtime.jit import JITFunction

from ..builtin import TLXError
from ..configs import cluster_size, unsupported
from .source import TLXASTSource


class TLXJITFunction(JITFunction):  # type: ignore[misc]
    """A kernel or helper in TLX. Launching, caching, autotuning and hooks are Triton's own."""

    def create_binder(self) -> Any:
        """Triton's binder, with the source class replaced by ours."""
        binder = super().create_binder()
        self.ASTSource = TLXASTSource
        return binder

    def is_gluon(self) -> bool:
        """Blocks carry explicit layouts from the start, as in Gluon."""
        return True

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """Triton's launch; ``ctas_per_cga=(c, 1, 1)`` groups the CTAs of the grid into clusters of ``c``."""
        if "ctas_per_cga" in kwargs:
            size = cluster_size(kwargs.pop("ctas_per_cga"))
            if size > 1:
                if reason := unsupported():
                    raise TLXError(f"{self.__name__}: {reason}")
                kwargs["num_ctas"] = size
                grid = _counting_clusters(grid, size)
        return super().run(*args, grid=grid, warmup=warmup, **kwargs)


def _counting_clusters(grid: Any, size: int) -> Any:
    """Triton's launcher counts clusters, the author counts CTAs."""

    def divided(meta: Any) -> tuple[int, ...]:
        first, *rest = grid(meta) if callable(grid) else grid
        if first % size:
            raise TLXError(f"a grid of {first} CTAs along its first axis cannot be cut into clusters of {size}")
        return (first // size, *rest)

    return None if grid is None else divided


@overload
def jit(fn: Callable[..., Any]) -> TLXJITFunction: ...


@overload
def jit(
    fn: None = None,
    *,
    version: Any = None,
    repr: Callable[..., Any] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Callable[[Callable[..., Any]], TLXJITFunction]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    version: Any = None,
    repr: Callable[..., Any] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Any:
    """Compiles a kernel that may use ``tlx``. Takes the options of ``triton.jit`` and works under the same
    decorators.
    """

    def decorate(function: Callable[..., Any]) -> TLXJITFunction:
        return TLXJITFunction(
            function,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return decorate if fn is None else decorate(fn)
