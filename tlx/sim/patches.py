"""What is replaced in Triton and tlx while a simulation runs, and put back afterwards.

The list is made once per process; installing it is a few hundred attribute writes. Triton's own interpreter knows most
of it, so it is asked for its patches with a scope that only takes notes; ours come after and win.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import triton.language as tl
from triton.language.extra.cuda import libdevice
from triton.runtime import interpreter as stock
from triton.runtime import jit

import tlx

from . import constructors, language, reductions
from .elementwise import map_elementwise
from .interpreter import INTERPRETER, SEMANTIC, STAND_INS, bound, sim_range, static_range
from .report import AssumptionError, SimulationError
from .scalars import operators
from .sites import MARK, here
from .unwrap import plain
from .values import Scalar, value

_MISSING = object()


class _Notes:
    """Stands in for Triton's patch scope and writes down what it is told."""

    def __init__(self) -> None:
        self.changes: list[tuple[Any, str, Any]] = []

    def set_attr(self, obj: Any, name: str, new: Any) -> None:
        self.changes.append((obj, name, new))


def _builtins(owner: Any) -> Iterator[tuple[Any, str, Any]]:
    for name, member in inspect.getmembers(owner):
        if isinstance(member, FunctionType) and tl.core.is_builtin(member):
            yield owner, name, bound(member)


def _truth(self: Any) -> bool:
    handle = self.handle
    if type(handle) is Scalar:
        return bool(handle.value)
    if self.type.is_block():
        # Triton's own layers ask whether an optional argument is there.
        if sys._getframe(1).f_globals.get(MARK):
            raise SimulationError("a block of values has no single truth value; use & and |", here())
        return True
    return bool(handle.data.item())


def _index(self: Any) -> int:
    handle = self.handle
    return int(handle.value if type(handle) is Scalar else handle.data.item())


def _static_assert(cond: Any, msg: Any = "", _semantic: Any = None) -> None:
    if not plain(cond):
        raise AssumptionError(f"static_assert failed: {plain(msg)}", here())


def _reduce(*args: Any, **kwargs: Any) -> Any:
    result = reductions.reduce(*args, **kwargs)
    if SEMANTIC.observer is not None:
        SEMANTIC.observer.computed("reduce", args, result)
    return result


def _call_jit(self: Any, *args: Any, **kwargs: Any) -> Any:
    return INTERPRETER.call(self, *args, **kwargs)


def _methods() -> Iterator[tuple[Any, str, Any]]:
    """``x.sum()``: jit functions among the attributes of tensors do not bind ``x`` by themselves."""
    for name, member in vars(tl.tensor).items():
        if isinstance(member, jit.JITFunction):
            yield tl.tensor, name, _method(member)


def _method(function: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return INTERPRETER.call(function, self, *args, **kwargs)

    return method


def _call_constexpr_function(self: Any, *args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
    return self.fn(*map(plain, args), **{name: plain(arg) for name, arg in kwargs.items()})


def _collect() -> list[tuple[Any, str, Any]]:
    stand_ins = [*language.FUNCTIONS, *language.CLASSES]
    notes = _Notes()
    stock._patch_lang_tensor(tl.tensor, notes)
    for module in (tl, tl.core):
        stock._patch_lang_core(module, notes)
    changes = [change for change in notes.changes if change[0] is not stock]
    descriptors = [tl.core.tensor_descriptor_base, tl.core.tensor_descriptor]
    owners = [tl, tl.core, tl.math, tl.tensor, *descriptors, tlx, libdevice]
    replaced = {(id(obj), name) for obj, name, _ in changes}
    for owner in owners:
        changes += [change for change in _builtins(owner) if (id(owner), change[1]) not in replaced]
    slow = {name: getattr(tl.tensor, name) for name in dir(tl.tensor) if tl.core.is_builtin(getattr(tl.tensor, name))}
    fast = operators(lambda name: bound(slow[name]) if name in slow else _unsupported(name))
    changes += [(tl.tensor, name, method) for name, method in fast.items() if name in slow]
    changes += _methods()
    changes += [
        (tl.tensor, "__init__", constructors.tensor_init),
        (tl.block_type, "__init__", constructors.block_type_init),
        (tl.tensor, "__bool__", _truth),
        (tl.tensor, "__index__", _index),
        (tl.tensor, "__int__", _index),
        (jit.JITFunction, "__call__", _call_jit),
        (jit.ConstexprFunction, "__call__", _call_constexpr_function),
        (stock, "TensorHandle", value),
        (stock, "_get_np_dtype", SEMANTIC.builder.kind),
        (stock, "_validate_np_data_size", lambda data, dtype: True),
    ]
    changes += [(tlx, name, STAND_INS[id(getattr(tlx, name))]) for name in stand_ins if hasattr(tlx, name)]
    for module in (tl, tl.core):
        changes += [
            (module, "range", sim_range),
            (module, "static_range", static_range),
            (module, "static_assert", _static_assert),
            (module, "map_elementwise", map_elementwise),
            (module, "reduce", _reduce),
            (module, "associative_scan", reductions.scan),
        ]
    return list({(id(obj), name): (obj, name, new) for obj, name, new in changes}.values())  # the last one wins


def _unsupported(name: str) -> Any:
    def refuse(*args: Any) -> Any:
        raise SimulationError(f"tensors have no {name}", here())

    return refuse


class _Patches:
    changes: list[tuple[Any, str, Any]] | None = None
    depth = 0


@contextmanager
def installed() -> Iterator[None]:
    """Triton and tlx compute on numpy values inside; may be nested."""
    _Patches.depth += 1
    try:
        if _Patches.depth > 1:
            yield
            return
        if _Patches.changes is None:
            _Patches.changes = _collect()
        saved = []
        try:
            for obj, name, new in _Patches.changes:
                saved.append((obj, name, obj.__dict__.get(name, _MISSING)))
                setattr(obj, name, new)
            yield
        finally:
            for obj, name, old in reversed(saved):
                if old is _MISSING:
                    delattr(obj, name)
                else:
                    setattr(obj, name, old)
    finally:
        _Patches.depth -= 1
