"""What the launcher may know of a pointer argument: an address, a dtype and the bytes one element takes.

torch tensors, `tlx.sim` tensors and Triton's own mocks all qualify; nothing here needs to know which it was given.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from triton._utils import canonicalize_dtype

__all__ = ["Address", "ByteRange", "Pointer", "byte_range", "dtype_name", "is_pointer"]


@runtime_checkable
class Pointer(Protocol):
    """An argument Triton would pass to a kernel as a pointer."""

    @property
    def dtype(self) -> Any:
        """The dtype of one element; `str()` of it ends in a name Triton knows."""

    def data_ptr(self) -> int:
        """The address of the first element, in bytes."""

    def element_size(self) -> int:
        """The size of one element, in bytes."""


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer that owns nothing, so that a cached descriptor does not keep a tensor alive."""

    address: int
    #: The dtype object of the tensor it was taken from: Triton reads `str(dtype)` and `dtype.itemsize`.
    dtype: Any
    itemsize: int

    @classmethod
    def of(cls, pointer: Pointer) -> Address:
        """The address of `pointer` at this moment."""
        return cls(pointer.data_ptr(), pointer.dtype, pointer.element_size())

    def data_ptr(self) -> int:
        """The address, in bytes."""
        return self.address

    def element_size(self) -> int:
        """The size of one element, in bytes."""
        return self.itemsize


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The bytes from `first` up to, not including, `end`; `end` is infinite where nothing bounds it."""

    first: float
    end: float

    def overlaps(self, other: ByteRange) -> bool:
        """Whether one byte belongs to both."""
        return self.first < other.end and other.first < self.end


def is_pointer(value: object) -> bool:
    """Whether Triton would take `value` as a pointer (strings, numbers and `None` are not)."""
    return hasattr(value, "data_ptr") and hasattr(value, "dtype")


@functools.lru_cache(maxsize=256)
def dtype_name(dtype: Any) -> str:
    """Triton's short name of a dtype: "fp16", "bf16", "fp8e4nv", "i8"; a name Triton does not know stays as it is."""
    try:
        return str(canonicalize_dtype(dtype))
    except KeyError:
        return str(dtype)


def byte_range(pointer: Pointer, shape: Sequence[int | None], strides: Sequence[int]) -> ByteRange:
    """The bytes that `pointer[i, j, ...]` can touch for indices within `shape`.

    `shape` and `strides` are in elements; strides may be zero or negative. An extent of `None` is bounded by
    the storage of the tensor where it tells its own, and by nothing otherwise.
    """
    itemsize = pointer.element_size()
    first = last = float(0)
    for extent, stride in zip(shape, strides, strict=True):
        if extent is not None and extent < 1:
            return ByteRange(0, 0)
        reach = math.inf * stride if extent is None and stride else (extent or 1) * stride - stride
        first, last = first + min(reach, 0), last + max(reach, 0)
    base = pointer.data_ptr()
    begin, end = base + first * itemsize, base + (last + 1) * itemsize
    if math.isinf(begin) or math.isinf(end):
        storage = _storage(pointer)
        begin, end = max(begin, storage.first), min(end, storage.end)
    return ByteRange(begin, end)


def _storage(pointer: Pointer) -> ByteRange:
    """The allocation behind a torch tensor; everything for objects that do not tell."""
    try:
        storage = pointer.untyped_storage()  # type: ignore[attr-defined]
        return ByteRange(storage.data_ptr(), storage.data_ptr() + storage.nbytes())
    except AttributeError:
        return ByteRange(0, math.inf)
