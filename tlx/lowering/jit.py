"""``tlx.jit``: Triton's jit with our code generator behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

from triton.runtime.jit import JITFunction

from ..builtin import TLXError
from . import counting
from .reading import refused
from .source import TLXASTSource


class TLXJITFunction(JITFunction):  # type: ignore[misc]
    """A kernel or helper in TLX. Launching, caching, autotuning and hooks are Triton's own: only what happens where a
    kernel is compiled differs, so that a launch costs what that of a stock kernel costs.
    """

    @property
    def cache_key(self) -> Any:
        """Triton's own.

        Raises:
            TLXError: at the user's line, for what Triton cannot read.
        """
        try:
            return super().cache_key
        except TLXError:
            self.hash = None
            raise
        except Exception as error:
            self.hash = None
            raise refused(error) from error

    def create_binder(self) -> Any:
        """Triton's binder, with the source class replaced by ours."""
        binder = super().create_binder()
        self.ASTSource = TLXASTSource
        self.compile = counting.compile_counting
        return binder

    def is_gluon(self) -> bool:
        """Blocks carry explicit layouts from the start, as in Gluon."""
        return True

    def _pack_args(self, backend: Any, kwargs: Any, *rest: Any) -> Any:
        return super()._pack_args(backend, counting.as_num_ctas(self.__name__, kwargs), *rest)

    def _do_compile(
        self, key: str, signature: Any, device: Any, constexprs: Any, options: Any, *rest: Any, **words: Any
    ) -> Any:
        marked = counting.marked(options, key)
        return super()._do_compile(key, signature, device, constexprs, marked, *rest, **words)


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
