"""Tensors for kernels on a machine without torch: numpy arrays that have an address.

Addresses are simulated: every underlying array gets a range of its own, 256-byte aligned as a GPU allocator would,
with an unmapped gap on either side. So alignment does not depend on where numpy put the data, and no access past the
end of one tensor can hit another unnoticed.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from .dtypes import FLOAT64, short_name

_ALIGNMENT = 256
_GAP = 1 << 20


#: start address → allocation, of all there are
_live: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()


def allocation_at(address: int) -> Allocation | None:
    """The allocation that contains ``address``, of a launch or not: pointers may also come out of memory."""
    return next((a for a in list(_live.values()) if a.start <= address < a.stop), None)


class Allocation:
    """An underlying array, or the part of it from byte ``first`` to ``last``, and its address range."""

    _next = 1 << 32

    def __init__(self, owner: np.ndarray, first: int = 0, last: int | None = None) -> None:
        flat = owner if owner.flags.c_contiguous else owner.T
        if not flat.flags.c_contiguous:
            raise TypeError("the array that owns the memory must be contiguous; pass a view of it instead")
        self.owner = owner
        whole: np.ndarray = np.ndarray((owner.nbytes,), np.uint8, buffer=flat.reshape(-1).view(np.uint8).data)
        whole.flags.writeable = owner.flags.writeable
        stop = owner.nbytes if last is None else last
        # Not a slice: an empty one forgets where it begins.
        self.bytes: np.ndarray = np.ndarray((stop - first,), np.uint8, whole, first)
        self.start = Allocation._next + first % _ALIGNMENT
        self.stop = self.start + self.bytes.size
        Allocation._next = -(-(self.stop + _GAP) // _ALIGNMENT) * _ALIGNMENT
        _live[self.start] = self
        #: numpy dtype → float64 values of the same elements, after a lifted run
        self.lifted: dict[np.dtype, np.ndarray] = {}

    def elements(self, dtype: np.dtype) -> np.ndarray:
        """All of it as elements of ``dtype``; a view."""
        return self.bytes[: self.bytes.size // dtype.itemsize * dtype.itemsize].view(dtype)

    def lift(self, dtype: np.dtype) -> np.ndarray:
        """The float64 values that stand for the elements in a lifted run."""
        values = self.lifted.get(dtype)
        if values is None:
            values = self.lifted[dtype] = self.elements(dtype).astype(FLOAT64)
        return values


#: (address, size) of a torch storage → the array over it
_storages: weakref.WeakValueDictionary[tuple[int, int], np.ndarray] = weakref.WeakValueDictionary()

_allocations: weakref.WeakValueDictionary[int, Allocation] = weakref.WeakValueDictionary()


def _owner(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _extent(array: np.ndarray) -> Allocation:
    """The bytes from the first to the last element of ``array``, as an allocation of its own."""
    owner = _owner(array)
    low = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    if not array.size:  # neither a first element nor a last one: nothing, where it would begin
        return Allocation(owner, low, low)
    high = low + array.itemsize
    for extent, step in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * step
        low, high = low + min(reach, 0), high + max(reach, 0)
    return Allocation(owner, low, high)


def _allocation(array: np.ndarray) -> Allocation:
    owner = _owner(array)
    known = _allocations.get(id(owner))
    if known is None:
        known = _allocations[id(owner)] = Allocation(owner)
    return known


class DType(str):
    """An element type: Triton's short name, with its size."""

    __slots__ = ("is_floating_point", "itemsize")

    itemsize: int
    is_floating_point: bool

    def __new__(cls, dtype: np.dtype) -> DType:
        """The type of arrays of ``dtype``."""
        name = short_name(dtype)
        self = str.__new__(cls, name)
        self.itemsize = int(dtype.itemsize)
        self.is_floating_point = name.startswith(("fp", "bf"))
        return self


@dataclass(frozen=True, slots=True)
class Storage:
    """Where an allocation lies."""

    start: int
    size: int

    def data_ptr(self) -> int:
        """Address of its first byte."""
        return self.start

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.size


class SimTensor:
    """A numpy array with what launchers and guards ask of a tensor. Views share memory and addresses."""

    __slots__ = ("allocation", "array")

    #: launchers choose a device by this; there is only one
    device = "cpu"

    def __init__(self, array: np.ndarray, allocation: Allocation | None = None) -> None:
        self.array = array
        self.allocation = _allocation(array) if allocation is None else allocation

    def data_ptr(self) -> int:
        """Address of the first element."""
        owner = self.allocation.bytes
        offset = self.array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        return int(self.allocation.start + offset)

    @property
    def dtype(self) -> DType:
        """Element type: a string such as ``"fp16"`` that also has ``itemsize``."""
        return DType(self.array.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.array.ndim

    def dim(self) -> int:
        """Number of dimensions."""
        return self.array.ndim

    def size(self, dim: int | None = None) -> Any:
        """All extents, or one of them."""
        return self.array.shape if dim is None else self.array.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements, or one of them."""
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        return strides if dim is None else strides[dim]

    def element_size(self) -> int:
        """Bytes per element."""
        return int(self.array.itemsize)

    def numel(self) -> int:
        """Number of elements."""
        return int(self.array.size)

    def is_contiguous(self) -> bool:
        """Whether rows follow each other without gaps."""
        return bool(self.array.flags.c_contiguous)

    def untyped_storage(self) -> Storage:
        """The allocation that this tensor is a view of, as torch tells it."""
        return Storage(self.allocation.start, self.allocation.bytes.nbytes)

    def numpy(self) -> np.ndarray:
        """The array itself, not a copy."""
        return self.array

    @property
    def T(self) -> SimTensor:
        """The transposed view."""
        return SimTensor(self.array.T, self.allocation)

    def __getitem__(self, index: Any) -> SimTensor:
        return SimTensor(self.array[index], self.allocation)

    def __len__(self) -> int:
        return len(self.array)

    def reshape(self, *shape: int | Sequence[int]) -> SimTensor:
        """A view under another shape (a copy where numpy cannot make a view)."""
        return SimTensor(self.array.reshape(*shape))

    @property
    def lifted(self) -> np.ndarray:
        """The float64 values that the last lifted run left in it; the plain values where that run did not touch it."""
        dtype = self.array.dtype
        values = self.allocation.lifted.get(dtype)
        if values is None:
            return self.array.astype(FLOAT64)
        offset = (self.data_ptr() - self.allocation.start) // dtype.itemsize
        steps = tuple(step // dtype.itemsize * FLOAT64.itemsize for step in self.array.strides)
        lifted: np.ndarray = np.lib.stride_tricks.as_strided(values[offset:], self.array.shape, steps)
        copy: np.ndarray = np.array(lifted)
        return copy

    def __repr__(self) -> str:
        return f"tensor({self.dtype}{list(self.shape)} at {self.data_ptr():#x})"


def tensor(array: Any, exact: bool = False) -> SimTensor:
    """A tensor over a numpy (or ml_dtypes) array, or over a torch tensor on the CPU; the memory is shared.

    Args:
        array: the array. All tensors over views of one array share its addresses, so a kernel may reach from one into
            the next, as on a GPU.
        exact: gives this one addresses of its own, from its first to its last element: what lies around it in the
            underlying array is out of bounds.

    Raises:
        TypeError: an element type that Triton lacks, or something that is not an array.
    """
    if isinstance(array, SimTensor):
        return array
    if not isinstance(array, np.ndarray):
        array = _from_torch(array)
    short_name(array.dtype)
    return SimTensor(array, _extent(array) if exact else None)


def _from_torch(value: Any) -> np.ndarray:
    """A view of a torch tensor's storage; tensors over one storage get views of one array, and so share addresses."""
    if not (hasattr(value, "data_ptr") and hasattr(value, "untyped_storage")):
        raise TypeError(f"expected an array or a CPU tensor, not {type(value).__name__}")
    if value.device.type != "cpu":
        raise TypeError(f"the simulator needs tensors on the CPU, not on {value.device}")
    name = str(value.dtype).rpartition(".")[2]
    dtype: np.dtype = np.dtype(getattr(ml_dtypes, name, name))
    storage = value.untyped_storage()
    key = (storage.data_ptr(), storage.nbytes())
    owner = _storages.get(key)
    if owner is None:
        block = (ctypes.c_uint8 * storage.nbytes()).from_address(storage.data_ptr())
        block.storage = storage  # keeps the memory while the array lives
        owner = _storages[key] = np.frombuffer(block, np.uint8)
    strides = [step * dtype.itemsize for step in value.stride()]
    offset = value.storage_offset() * dtype.itemsize
    view: np.ndarray = np.ndarray(tuple(value.shape), dtype, owner, offset, strides)
    return view


def is_tensor(value: Any) -> bool:
    """Whether a launch argument stands for memory."""
    return isinstance(value, np.ndarray) or hasattr(value, "data_ptr")
