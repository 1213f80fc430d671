"""Memory of an SM as bytes: shared memory, and the tensor memory of Blackwell."""

from __future__ import annotations

from typing import Any

import numpy as np

from .shadow import Runs, Shadow
from .sites import Site

#: shared memory of one CTA, in bytes (227 KiB, Hopper and Blackwell alike)
CAPACITY = 232448
#: tensor memory of one CTA: 128 lanes of 512 columns of 32 bits
LANES, COLUMNS, COLUMN_BYTES = 128, 512, 4

#: memory that nothing valid has been written to: NaN in every float type
POISON = 0xFF


class Storage:
    """A piece of shared memory; several buffers may use it."""

    #: what it is counted against
    space = "shared"

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.bytes: np.ndarray = np.full(self._extent(), POISON, np.uint8)
        #: bytes written at least once
        self.filled: np.ndarray = np.zeros(nbytes, bool)
        self.shadow = Shadow()
        self.known_runs: dict[Any, Runs] = {}

    def _extent(self) -> tuple[int, ...]:
        return (self.nbytes,)

    def tile(self, start: int, shape: list[int], dtype: np.dtype) -> np.ndarray:
        """The tile that begins ``start`` bytes in."""
        size = int(np.prod(shape)) * dtype.itemsize
        return self.bytes[start : start + size].view(dtype).reshape(shape)

    def mirror(self, array: np.ndarray, other: Storage) -> np.ndarray:
        """The view of this storage that ``array`` is of ``other``, a storage of the same size."""
        start = array.__array_interface__["data"][0] - other.bytes.__array_interface__["data"][0]
        flat = self.bytes.reshape(-1)
        view: np.ndarray = np.ndarray(array.shape, array.dtype, flat.data, start, array.strides)
        return view

    def runs(self, array: np.ndarray) -> Runs:
        """The byte ranges of the storage that ``array``, a view of it, touches."""
        start = array.__array_interface__["data"][0] - self.bytes.__array_interface__["data"][0]
        key = (start, array.shape, array.strides, array.itemsize)
        known = self.known_runs.get(key)
        if known is None:
            known = self.known_runs[key] = self._runs(start, array)
        return known

    def _runs(self, start: int, array: np.ndarray) -> Runs:
        if array.flags.c_contiguous:
            return ((start, start + array.nbytes),)
        offsets = np.array([start])
        for extent, stride in zip(array.shape, array.strides, strict=True):
            offsets = (offsets[:, None] + np.arange(extent) * stride).ravel()
        offsets = np.unique(offsets)
        breaks: np.ndarray = np.flatnonzero(np.diff(offsets) != array.itemsize) + 1
        return tuple((int(part[0]), int(part[-1]) + array.itemsize) for part in np.split(offsets, breaks))

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


class TensorStorage(Storage):
    """Columns of tensor memory: ``nbytes`` of every lane.

    A tile takes whole columns, and its accesses are ranges of a lane's bytes: what two tiles share, they share in all
    lanes.
    """

    space = "tensor"

    def _extent(self) -> tuple[int, ...]:
        return (LANES, self.nbytes)

    def tile(self, start: int, shape: list[int], dtype: np.dtype) -> np.ndarray:
        """The rows are lanes, the columns lie side by side."""
        rows, columns = shape
        return self.bytes[:rows, start : start + columns * dtype.itemsize].view(dtype)

    def _runs(self, start: int, array: np.ndarray) -> Runs:
        first = start % self.nbytes
        return ((first, first + array.shape[-1] * array.itemsize),)

    def poison(self, array: np.ndarray) -> None:
        """Makes a view of it unusable until something valid is written."""
        array.view(np.uint8)[...] = POISON


class Budget:
    """What one CTA has allocated in one kind of memory."""

    def __init__(self, capacity: int, granule: int) -> None:
        self.capacity = capacity
        self.granule = granule
        self._sizes: dict[object, tuple[int, Site]] = {}

    @property
    def largest(self) -> Site:
        """The line of the largest allocation."""
        return max(self._sizes.values(), key=lambda entry: entry[0])[1]

    def charge(self, position: object, size: int, site: Site) -> int:
        """Counts an allocation (the same one in a loop counts once) and returns what is in use."""
        rounded = -(-size // self.granule) * self.granule
        before = self._sizes.get(position, (0, site))[0]
        self._sizes[position] = (max(rounded, before), site)
        return sum(size for size, _ in self._sizes.values())
