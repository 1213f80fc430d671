"""What the launcher may know of a pointer argument: an address, a dtype and the bytes one element takes.

torch tensors, `tlx.sim` tensors and Triton's own mocks all qualify; nothing here needs to know which it was given. A
tensor descriptor that a caller made is memory too: that of the tensor it describes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from triton._utils import canonicalize_dtype
from triton.tools.tensor_descriptor import TensorDescriptor

__all__ = [
    "Address",
    "ByteRange",
    "Pointer",
    "base_of",
    "byte_range",
    "dtype_name",
    "is_descriptor",
    "is_memory",
    "is_pointer",
    "is_symbolic",
    "layout_of",
    "noting_storage",
    "same_storage",
    "storage_of",
]


#: Whether values of a type are pointers, as found the first time one was seen.
POINTER_TYPES: dict[type, bool] = {}
#: torch's tensors that stand for others while a program is recorded; they have no memory, and asking for it fails.
SYMBOLIC = ("FakeTensor", "FunctionalTensor")
NOTED: ContextVar[list[Pointer] | None] = ContextVar("NOTED", default=None)


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
    """Whether `value` is a tensor as a launch needs it. Triton's mocks for warming up are not: they have no size."""
    kind = type(value)
    known = POINTER_TYPES.get(kind)
    if known is None:
        known = POINTER_TYPES[kind] = all(hasattr(value, name) for name in ("data_ptr", "dtype", "element_size"))
    return known


def is_descriptor(value: object) -> bool:
    """Whether `value` is a tensor descriptor, as a caller makes it for a kernel."""
    return isinstance(value, TensorDescriptor)


def is_memory(value: object) -> bool:
    """Whether `value` is a tensor or describes one: what must not be kept from one launch to the next."""
    return is_pointer(value) or is_descriptor(value)


def base_of(value: Any) -> Any:
    """The tensor that a descriptor describes; anything else as it is."""
    return value.base if is_descriptor(value) else value


def is_symbolic(value: object) -> bool:
    """Whether `value` is, or describes, a tensor without memory."""
    return type(base_of(value)).__name__ in SYMBOLIC


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
    first: float = 0
    last: float = 0
    for extent, stride in zip(shape, strides, strict=True):
        if extent is None:
            reach = math.inf * stride if stride else 0
        elif extent < 1:
            return ByteRange(0, 0)
        else:
            reach = (extent - 1) * stride
        if reach < 0:
            first += reach
        else:
            last += reach
    base, itemsize = pointer.data_ptr(), pointer.element_size()
    begin, end = base + first * itemsize, base + (last + 1) * itemsize
    if begin == -math.inf or end == math.inf:
        storage = storage_of(pointer)
        begin, end = max(begin, storage.first), min(end, storage.end)
    return ByteRange(begin, end)


#: A tensor whose memory bounds an axis: its name, its position among the arguments (-1: by keyword), its storage, and
#: its own shape and strides.
Bounded: TypeAlias = tuple[str, int, ByteRange, tuple[tuple[int, ...], tuple[int, ...]]]


@contextmanager
def noting_storage() -> Iterator[list[Pointer]]:
    """Collect the tensors whose storage, or own shape, bounds an axis while the block runs: no argument tells it."""
    noted: list[Pointer] = []
    token = NOTED.set(noted)
    try:
        yield noted
    finally:
        NOTED.reset(token)


def storage_of(pointer: Pointer) -> ByteRange:
    """The allocation behind a torch tensor; everything for objects that do not tell."""
    if (noted := NOTED.get()) is not None:
        noted.append(pointer)
    try:
        storage = pointer.untyped_storage()  # type: ignore[attr-defined]
        return ByteRange(storage.data_ptr(), storage.data_ptr() + storage.nbytes())
    except AttributeError:
        return ByteRange(0, math.inf)


def layout_of(pointer: Pointer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of a torch tensor, in elements; nothing for objects that do not tell."""
    if (noted := NOTED.get()) is not None:
        noted.append(pointer)
    try:
        return tuple(pointer.shape), tuple(pointer.stride())  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return (), ()


def same_storage(pointer: Pointer, known: ByteRange, layout: tuple[tuple[int, ...], tuple[int, ...]]) -> bool:
    """Whether `storage_of(pointer)` and `layout_of(pointer)` are these, for launches that cannot wait."""
    if layout_of(pointer) != layout:
        return False
    try:
        storage = pointer.untyped_storage()  # type: ignore[attr-defined]
    except AttributeError:
        return known.end == math.inf
    first = storage.data_ptr()
    return bool(first == known.first and first + storage.nbytes() == known.end)
