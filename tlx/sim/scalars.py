"""Operators on integer scalars, done on Python integers.

Most of what a kernel computes outside its tiles is such arithmetic, and Triton's semantic layer takes some ten
microseconds for each. The results are those of the hardware: two's complement wrap-around, division towards zero.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import triton.language as tl

from .values import FAST, Scalar, scalar_tensor

_INT32, _INT64, _INT1 = FAST["int32"], FAST["int64"], FAST["int1"]

#: dtype → (smallest, one past the largest)
_LIMITS = {id(_INT32): (-(2**31), 2**31), id(_INT64): (-(2**63), 2**63)}


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _divide(a, b)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": _divide, "mod": _remainder,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}  # fmt: skip

_COMPARISON: dict[str, Callable[[int, int], bool]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
}


def _operands(self: Any, other: Any) -> tuple[int, int, Any] | None:
    """Both numbers and their common type, if this is a case for Python integers."""
    mine = self.handle
    if type(mine) is not Scalar or self.type is not mine.dtype:
        return None
    dtype = mine.dtype
    kind = type(other)
    if kind is tl.tensor:
        theirs = other.handle
        if type(theirs) is Scalar and theirs.dtype is dtype and other.type is dtype:
            return mine.value, theirs.value, dtype
        return None
    if kind is tl.constexpr:
        other = other.value
        kind = type(other)
    limits = _LIMITS.get(id(dtype))
    if kind is int and limits is not None and limits[0] <= other < limits[1]:
        return mine.value, other, dtype
    return None


def _arithmetic(op: Callable[[int, int], int], slow: Callable[..., Any], swapped: bool) -> Callable[..., Any]:
    bitwise = op in (operator.and_, operator.or_, operator.xor)
    divides = op in (_divide, _remainder)

    def method(self: Any, other: Any, _semantic: Any = None) -> Any:
        pair = _operands(self, other)
        if pair is None:
            return slow(self, other)
        a, b, dtype = pair
        if swapped:
            a, b = b, a
        if dtype is _INT1:
            return scalar_tensor(op(a, b), dtype) if bitwise else slow(self, other)
        if divides and b == 0:
            return slow(self, other)
        number = op(a, b)
        low, high = _LIMITS[id(dtype)]
        if not low <= number < high:
            number = (number - low) % (high - low) + low
        return scalar_tensor(number, dtype)

    return method


def _comparison(op: Callable[[int, int], bool], slow: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, _semantic: Any = None) -> Any:
        pair = _operands(self, other)
        if pair is None:
            return slow(self, other)
        return scalar_tensor(op(pair[0], pair[1]), _INT1)

    return method


def operators(slow: Callable[[str], Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Methods for ``tl.tensor`` by name; ``slow(name)`` is what each falls back on for anything but integer scalars."""
    methods = {}
    for name, op in _ARITHMETIC.items():
        for method, swapped in ((f"__{name}__", False), (f"__r{name}__", True)):
            methods[method] = _arithmetic(op, slow(method), swapped)
    for name, compare in _COMPARISON.items():
        methods[f"__{name}__"] = _comparison(compare, slow(f"__{name}__"))
    return methods
