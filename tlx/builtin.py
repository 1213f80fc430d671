"""What makes a Python function a name that kernels may call, and the one error type that such a call raises."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

from triton.language.core import _unwrap_if_constexpr

# Everything imports this module, and an unsupported Triton must be the first thing anyone hears of.
from .lowering import versions as versions

F = TypeVar("F", bound=Callable[..., Any])


class TLXError(ValueError):
    """A kernel uses tlx in a way that cannot be compiled; Triton adds the user's line when it reports it."""


def unwrap(value: Any) -> Any:
    """The Python value behind a ``tl.constexpr``, one level deep; lists, tuples and ``tl.tuple`` become lists of
    them.
    """
    value = _unwrap_if_constexpr(value)
    if isinstance(value, (list, tuple)) or type(value).__name__ == "tuple":
        return [_unwrap_if_constexpr(item) for item in value]
    return value


def described(value: Any) -> str:
    """A value as an author knows it: its type where it is one of a kernel's, its text where it is known."""
    value = _unwrap_if_constexpr(value)
    ty = getattr(value, "type", None)
    if ty is None or isinstance(value, type):
        return repr(value)
    if type(value).__name__ == "tensor":
        return f"a block of {ty.scalar}" if ty.is_block() else f"a run-time {ty}"
    return f"a value of type {ty}"


def constant(value: Any, what: str, of: type = int) -> Any:
    """The compile-time value of an argument that TLX declares constexpr.

    Raises:
        TLXError: the argument is only known when the kernel runs.
    """
    value = _unwrap_if_constexpr(value)
    if not isinstance(value, of) or (of is int and isinstance(value, bool)):
        raise TLXError(f"{what} must be a compile-time {of.__name__}, not {described(value)}")
    return value


def pending(value: Any) -> int:
    """How many asynchronous operations a wait leaves under way.

    Raises:
        TLXError: it is no compile-time int, or negative.
    """
    number: int = constant(value, "pendings")
    if number < 0:
        raise TLXError(f"pendings must not be negative, it is {number}")
    return number


#: attribute of tensors that are known, when the kernel is compiled, to have no bit set
ZERO = "_tlx_zero"


def zeroed(value: Any, like: Any = None) -> Any:
    """The tensor ``value``, known to be zero if ``like`` is (or without one)."""
    if like is None or getattr(like, ZERO, False):
        setattr(value, ZERO, True)
    return value


def known_zero(value: Any) -> bool:
    """Whether a value is known, when the kernel is compiled, to have no bit set: a number, or a tensor made of one.

    ``other = 0.0`` in a kernel makes a tensor, and ``tl.zeros`` is one.
    """
    value = _unwrap_if_constexpr(value)
    if getattr(value, ZERO, False):
        return True
    return isinstance(value, (bool, int, float)) and value == 0 and math.copysign(1, value) > 0


def builtin(fn: F) -> F:
    """Marks ``fn`` as callable from kernels: Triton then passes its ``_semantic`` (and ``_generator``) by keyword."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("_semantic") is None:
            raise TLXError(f"tlx.{fn.__name__} can only be called from a kernel decorated with tlx.jit")
        if not getattr(kwargs["_semantic"], "is_tlx", False):
            raise TLXError(f"tlx.{fn.__name__} needs the kernel to be decorated with tlx.jit, not triton.jit")
        return fn(*args, **kwargs)

    wrapper.__triton_builtin__ = True  # type: ignore[attr-defined]
    wrapper.__tlx__ = True  # type: ignore[attr-defined]
    return cast(F, wrapper)
