"""What stands in a ``tl.tensor``'s handle: an array, a single integer, or the result of a dot still under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from .dtypes import numpy_dtype

#: integer scalars of these types are plain Python integers: most of a kernel's arithmetic is on them
FAST = {"int32": tl.int32, "int64": tl.int64, "int1": tl.int1}


class Value:
    """An array. ``dtype`` is the Triton scalar or pointer type; scalars have shape (1,)."""

    __slots__ = ("attr", "data", "dtype")

    def __init__(self, data: np.ndarray, dtype: Any, attr: dict[str, Any] | None = None) -> None:
        self.data = data
        self.dtype = dtype
        self.attr = attr

    def __bool__(self) -> bool:
        return bool(self.data.all())

    def get_element_ty(self) -> Any:
        """The innermost type: what a pointer points to."""
        dtype = self.dtype
        while hasattr(dtype, "element_ty"):
            dtype = dtype.element_ty
        return dtype

    def clone(self) -> Value:
        """A copy."""
        return Value(self.data.copy(), self.dtype)

    def set_attr(self, key: str, value: Any) -> None:
        """Hints such as divisibility; kept, not used."""
        self.attr = {**(self.attr or {}), key: value}


class Scalar(Value):
    """One integer or boolean, as a Python number; the array is made only where one is asked for."""

    __slots__ = ("_array", "value")

    def __init__(self, value: int, dtype: Any) -> None:
        self.value = value
        self.dtype = dtype
        self.attr = None
        self._array: np.ndarray | None = None

    @property
    def data(self) -> np.ndarray:  # type: ignore[override]
        """The number as an array of shape (1,)."""
        if self._array is None:
            self._array = np.array([self.value], numpy_dtype(self.dtype))
        return self._array

    def __bool__(self) -> bool:
        return bool(self.value)


class InFlight(Value):
    """The result of an asynchronous dot. Reading it is what ``on_read`` reports; NaN comes back."""

    __slots__ = ("group", "on_read", "result", "shape")

    def __init__(self, dtype: Any, shape: tuple[int, ...], group: int, on_read: Callable[[InFlight], None]) -> None:
        self.dtype = dtype
        self.attr = None
        self.shape = shape
        #: number of the dot in its task's queue
        self.group = group
        self.on_read = on_read
        #: set when the tensor core is done
        self.result: np.ndarray | None = None

    @property
    def data(self) -> np.ndarray:  # type: ignore[override]
        """Poison: the registers are not valid yet."""
        self.on_read(self)
        kind = numpy_dtype(self.dtype)
        poison: np.ndarray = np.full(self.shape, np.nan if self.dtype.is_floating() else -1, kind)
        return poison


def value(data: Any, dtype: Any, attr: dict[str, Any] | None = None) -> Value:
    """The handle for ``data``; this is what Triton's interpreter calls instead of its ``TensorHandle``."""
    if isinstance(data, np.ndarray) and data.shape == (1,):
        scalar = FAST.get(dtype.scalar.name)
        if scalar is not None and data.dtype == numpy_dtype(scalar):
            return Scalar(data.item(), scalar)
    return Value(data, dtype, attr)


_NO_SHAPE = tl.core.tuple([])
_ONE = tl.constexpr(1)


def scalar_tensor(number: int, dtype: Any) -> Any:
    """A ``tl.tensor`` around an integer in range of ``dtype``; much cheaper than its constructor."""
    tensor = tl.tensor.__new__(tl.tensor)
    tensor.__dict__.update(handle=Scalar(number, dtype), shape=_NO_SHAPE, numel=_ONE, type=dtype, dtype=dtype)
    return tensor
