"""Turns jit functions into callables over numpy values, and keeps them up to date with their modules."""

from __future__ import annotations

import builtins
import inspect
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import triton.language as tl
from triton.language.extra import libdevice as generic_libdevice
from triton.language.extra.cuda import libdevice
from triton.runtime.jit import JITFunction

import tlx

from . import language, logic, rewrite
from .semantic import SimSemantic
from .sites import MARK
from .slotted import Slotted
from .task_ops import capture
from .unwrap import plain
from .values import FAST, scalar_tensor

SEMANTIC = SimSemantic()
Slotted.ops = SEMANTIC


def bind(value: Any) -> Any:
    """What an assignment makes of a value: numbers become tensors, tuples element by element."""
    kind = type(value)
    if kind is tl.tensor:
        return value
    value = plain(value)
    if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
        return scalar_tensor(int(value), tl.int32)
    if isinstance(value, (bool, int, float)):
        return SEMANTIC.to_tensor(value)
    if kind is tuple:
        return tuple(bind(item) for item in value)
    return value


class _Range:
    """``range`` and ``tl.range``: the induction variable is a tensor of the bounds' type."""

    def __call__(self, *bounds: Any, **hints: Any) -> Any:
        start, stop, step = self._bounds(*bounds, **{k: v for k, v in hints.items() if k in ("arg1", "arg2", "step")})
        numbers = [SEMANTIC.to_tensor(plain(x)) if not isinstance(x, tl.tensor) else x for x in (start, stop, step)]
        wide = any(x.dtype.primitive_bitwidth == 64 for x in numbers)
        dtype = FAST["int64" if wide else "int32"]
        low, high, by = (x.__index__() for x in numbers)
        return (scalar_tensor(i, dtype) for i in builtins.range(low, high, by))

    @staticmethod
    def _bounds(arg1: Any, arg2: Any = None, step: Any = None) -> tuple[Any, Any, Any]:
        start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
        return start, stop, 1 if step is None else step


sim_range = _Range()


def static_range(arg1: Any, arg2: Any = None, step: Any = None, **hints: Any) -> builtins.range:
    """``tl.static_range``: the induction variable is a constant."""
    start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
    return builtins.range(plain(start), plain(stop), 1 if step is None else plain(step))


def _extremum(choose: Callable[..., Any], blockwise: str) -> Callable[..., Any]:
    def extremum(*args: Any) -> Any:
        if any(isinstance(arg, tl.tensor) for arg in args):
            result = args[0]
            for arg in args[1:]:
                result = getattr(tl, blockwise)(result, arg)
            return result
        return choose(*(plain(arg) for arg in args))

    return extremum


def turn() -> None:
    """One more turn of some loop whose end nobody knows."""
    SEMANTIC.builder.turn()


#: what Triton's reading of a kernel puts in place of Python's builtins
_BUILTINS: dict[str, Any] = {
    "range": sim_range,
    "min": _extremum(min, "minimum"),
    "max": _extremum(max, "maximum"),
    rewrite.BIND: bind,
    rewrite.CONSTANT: plain,
    rewrite.TURN: turn,
    rewrite.OPEN: SEMANTIC.open_region,
    rewrite.CAPTURE: capture,
    rewrite.AND: logic.logical_and,
    rewrite.OR: logic.logical_or,
    rewrite.NOT: logic.logical_not,
}


def with_semantic(builtin: Callable[..., Any]) -> Callable[..., Any]:
    """A Triton or TLX builtin that kernels can call directly."""

    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs["_semantic"] = SEMANTIC
        result = builtin(*args, **kwargs)
        if SEMANTIC.observer is not None:
            SEMANTIC.observer.computed(name, args, result)
        return result

    name = getattr(builtin, "__name__", "builtin")
    call.__name__ = name
    call.__tlx_builtin__ = builtin  # type: ignore[attr-defined]
    return call


def _stand_ins() -> dict[int, Any]:
    """Identity of what ``tlx`` exports → what takes its place."""
    taken = {name: with_semantic(fn) for name, fn in language.FUNCTIONS.items()} | language.CLASSES
    return {id(getattr(tlx, name)): stand_in for name, stand_in in taken.items() if hasattr(tlx, name)}


_bound: dict[int, tuple[Any, Callable[..., Any]]] = {}


def bound(builtin: Any) -> Callable[..., Any]:
    """``with_semantic``, the same object each time."""
    known = _bound.get(id(builtin))
    if known is None and id(builtin) in STAND_INS:
        known = _bound[id(builtin)] = (builtin, STAND_INS[id(builtin)])
    if known is None:
        known = _bound[id(builtin)] = (builtin, with_semantic(builtin))
    return known[1]


#: names of ``tlx`` that mean more here than the compiler makes of them
STAND_INS = _stand_ins()


class Program:
    """A jit function, interpreted."""

    def __init__(self, jit: JITFunction) -> None:
        fn: FunctionType = jit.fn
        # Programs are kept as long as their functions, so they must not keep these alive.
        self.function = weakref.ref(fn)
        # The text that Triton itself would compile, even if the file has changed since.
        code = rewrite.rewrite("".join(jit.raw_src), jit.starting_line_number, fn.__code__.co_filename, fn.__name__)
        self.namespace: dict[str, Any] = {}
        found: dict[str, Any] = {}
        exec(code, self.namespace, found)
        self.run: FunctionType = found[fn.__name__]
        self.run.__defaults__ = fn.__defaults__
        self.run.__kwdefaults__ = fn.__kwdefaults__
        self.user = not (fn.__module__ or "").startswith("triton.")
        self.epoch = -1
        self.constants = frozenset(
            name for name, p in inspect.signature(fn).parameters.items() if "constexpr" in _annotation(p.annotation)
        )

    def refresh(self, epoch: int) -> None:
        """Takes over the module's globals and the enclosing variables as they are now."""
        if not self.user and self.epoch >= 0:
            self.epoch = epoch  # Triton's own modules do not change
            return
        fn = self.function()
        assert fn is not None
        names = dict(fn.__globals__)
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            names[name] = capture(lambda cell=cell: cell.cell_contents)  # type: ignore[misc]
        names = {name: _as_seen_by_kernels(value) for name, value in names.items()}
        for name, value in _BUILTINS.items():
            names.setdefault(name, value)
        names[MARK] = self.user
        self.namespace.clear()
        self.namespace.update(names)
        self.epoch = epoch


def _as_seen_by_kernels(value: Any) -> Any:
    """What a global stands for inside a kernel."""
    if id(value) in STAND_INS:
        return STAND_INS[id(value)]
    if isinstance(value, tl.constexpr):
        return value.value
    if value is generic_libdevice:
        return libdevice
    if isinstance(value, FunctionType):
        if value.__module__ == generic_libdevice.__name__:
            value = getattr(libdevice, value.__name__, value)
        if getattr(value, "__triton_builtin__", False):
            return bound(value)
    return value


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


class Interpreter:
    """All programs; ``epoch`` advances with every launch so that changed globals are seen."""

    def __init__(self) -> None:
        self.programs: weakref.WeakKeyDictionary[FunctionType, Program] = weakref.WeakKeyDictionary()
        self.epoch = 0

    def program(self, jit: JITFunction) -> Program:
        """The interpreted form of a jit function, ready to run in this launch."""
        known = self.programs.get(jit.fn)
        if known is None:
            known = self.programs[jit.fn] = Program(jit)
        if known.epoch != self.epoch:
            known.refresh(self.epoch)
        return known

    def call(self, jit: JITFunction, *args: Any, **kwargs: Any) -> Any:
        """A call of a jit function from a kernel."""
        kwargs.pop("_semantic", None)
        return self.program(jit).run(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})


INTERPRETER = Interpreter()
