"""``triton.jit`` while ``tlx.install()`` holds: kernels that use TLX become TLX kernels, all others stay Triton's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from types import CodeType, ModuleType
from typing import Any

from triton.runtime.jit import JITFunction

from .lowering.jit import TLXJITFunction

#: attribute of a module that stands for tlx, and of every tlx builtin
MARK = "__tlx__"


def _objects(function: Callable[..., Any]) -> Iterator[Any]:
    """What the names in ``function`` refer to, as far as that is known without running it."""
    code: CodeType = function.__code__
    attributes = code.co_names
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    for name in (*code.co_names, *code.co_freevars):
        value = scope.get(name)
        yield value
        if isinstance(value, ModuleType):
            # ``module.helper``: which attribute goes with which module is not worth telling apart.
            yield from (vars(value).get(attribute) for attribute in attributes)


def uses_tlx(kernel: JITFunction, seen: set[int] | None = None) -> bool:
    """Whether a kernel or a helper that it can reach names anything of TLX."""
    seen = set() if seen is None else seen
    if id(kernel) in seen:
        return False
    seen.add(id(kernel))
    return any(
        getattr(value, MARK, False) is True or (isinstance(value, JITFunction) and uses_tlx(value, seen))
        for value in _objects(kernel.fn)
    )


class AdoptedJITFunction(TLXJITFunction):
    """A function decorated with ``@triton.jit``. What it is becomes known when it is first asked: by then all of its
    helpers are defined.
    """

    @cached_property
    def is_tlx(self) -> bool:
        """Whether TLX compiles it."""
        return uses_tlx(self)

    @property
    def cache_key(self) -> Any:
        """Triton's own, with TLX's errors if it is a TLX kernel."""
        return super().cache_key if self.is_tlx else JITFunction.cache_key.fget(self)

    def create_binder(self) -> Any:
        """TLX's binder or Triton's own."""
        return super().create_binder() if self.is_tlx else JITFunction.create_binder(self)

    def is_gluon(self) -> bool:
        """As in a TLX kernel, if it is one."""
        return self.is_tlx

    def _pack_args(self, *args: Any) -> Any:
        return super()._pack_args(*args) if self.is_tlx else JITFunction._pack_args(self, *args)

    def _do_compile(self, *args: Any, **kwargs: Any) -> Any:
        stock = JITFunction._do_compile
        return super()._do_compile(*args, **kwargs) if self.is_tlx else stock(self, *args, **kwargs)


def adopting(stock: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator with the options of ``triton.jit`` that makes ``AdoptedJITFunction``s."""

    def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
        def decorate(function: Callable[..., Any]) -> Any:
            made = stock(function, **options)
            if type(made) is not JITFunction:
                return made  # Triton's interpreter, or another tool's class
            return AdoptedJITFunction(function, **options)

        return decorate if fn is None else decorate(fn)

    return jit
