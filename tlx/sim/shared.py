"""Shared memory: allocations, their slots, and views into them. Views move no data and know their bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .dtypes import numpy_dtype
from .shadow import Runs, Shadow
from .sites import Site
from .slotted import Slotted

#: shared memory of one CTA on Hopper, in bytes (227 KiB)
CAPACITY = 232448

#: memory that nothing valid has been written to: NaN in every float type
POISON = 0xFF


class Storage:
    """A piece of shared memory; several buffers may use it."""

    __slots__ = ("bytes", "filled", "known_runs", "nbytes", "shadow")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.bytes: np.ndarray = np.full(nbytes, POISON, np.uint8)
        #: bytes written at least once
        self.filled: np.ndarray = np.zeros(nbytes, bool)
        self.shadow = Shadow()
        self.known_runs: dict[Any, Runs] = {}

    def runs(self, array: np.ndarray) -> Runs:
        """The byte ranges of the storage that ``array``, a view of it, touches."""
        start = array.__array_interface__["data"][0] - self.bytes.__array_interface__["data"][0]
        key = (start, array.shape, array.strides, array.itemsize)
        known = self.known_runs.get(key)
        if known is None:
            known = self.known_runs[key] = _runs(start, array)
        return known

    def is_filled(self, runs: Runs) -> bool:
        """Whether every byte has been written."""
        filled = self.filled
        return all(filled[start:stop].all() for start, stop in runs)

    def mark_filled(self, runs: Runs) -> None:
        """Notes a write."""
        for start, stop in runs:
            self.filled[start:stop] = True

    def poison(self, array: np.ndarray) -> None:
        """Makes a view of it unusable until something valid is written."""
        for start, stop in self.runs(array):
            self.bytes[start:stop] = POISON


def _runs(start: int, array: np.ndarray) -> Runs:
    if array.flags.c_contiguous:
        return ((start, start + array.nbytes),)
    offsets = np.array([start])
    for extent, stride in zip(array.shape, array.strides, strict=True):
        offsets = (offsets[:, None] + np.arange(extent) * stride).ravel()
    offsets = np.unique(offsets)
    breaks: np.ndarray = np.flatnonzero(np.diff(offsets) != array.itemsize) + 1
    return tuple((int(part[0]), int(part[-1]) + array.itemsize) for part in np.split(offsets, breaks))


@dataclass(slots=True, eq=False)
class View(Slotted):
    """One tile of a buffer or a part of one, as kernels hold it."""

    buffer: Buffer
    label: str
    array: np.ndarray
    dtype: Any
    runs: Runs = field(init=False)
    slots: dict[int, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.runs = self.buffer.storage.runs(self.array)

    @property
    def shape(self) -> list[int]:
        """Extents, in elements."""
        return list(self.array.shape)

    @property
    def num(self) -> int:
        """0: a view is not an array of slots."""
        return 0

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.array.nbytes)

    def derive(self, array: np.ndarray, label: str, dtype: Any = None) -> View:
        """Another view of the same buffer."""
        return View(self.buffer, label, array, self.dtype if dtype is None else dtype)


@dataclass(slots=True, eq=False)
class Buffer(Slotted):
    """``num`` tiles of ``shape`` elements of ``dtype``, as ``local_alloc`` returns them."""

    storage: Storage
    shape: list[int]
    dtype: Any
    num: int
    site: Site
    slots: dict[int, View] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The user's name for it, or the line that allocates it."""
        return self.site.target or f"buffer of line {self.site.line}"

    @property
    def tile_bytes(self) -> int:
        """Size of one slot in bytes."""
        return int(np.prod(self.shape)) * int(numpy_dtype(self.dtype).itemsize)

    @property
    def nbytes(self) -> int:
        """Size of all slots in bytes."""
        return self.tile_bytes * self.num

    def slot(self, index: int) -> View:
        """Slot ``index``, which must be in range."""
        view = self.slots.get(index)
        if view is None:
            size = self.tile_bytes
            part = self.storage.bytes[index * size : (index + 1) * size]
            array = part.view(numpy_dtype(self.dtype)).reshape(self.shape)
            view = self.slots[index] = View(self, f"{self.label}[{index}]", array, self.dtype)
        return view


class SharedMemory:
    """What one CTA has allocated."""

    def __init__(self) -> None:
        self._sizes: dict[object, int] = {}

    def charge(self, position: object, nbytes: int) -> int:
        """Counts an allocation (the same one in a loop counts once) and returns the bytes in use."""
        aligned = -(-nbytes // 16) * 16
        self._sizes[position] = max(aligned, self._sizes.get(position, 0))
        return sum(self._sizes.values())
