"""Global memory as a kernel sees it: the tensors of the launch, those that pointers in them lead to, nothing else.

Every access is checked against their address ranges; what falls outside is a finding, reads zero and writes nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dtypes import FLOAT64, numpy_dtype
from .numerics import round_to_tf32
from .observer import Observer
from .report import SimulationError
from .sharing import Sharing
from .sites import here
from .tensors import Allocation, allocation_at

#: Bytes: along the contiguous axis the TMA starts a box at a multiple of it (anything else is an illegal instruction).
TMA_UNIT = 16


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A TMA descriptor: where the tensor is, its extents and strides in elements, and the box that one copy moves."""

    address: int
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]
    #: what lies outside reads as NaN instead of 0
    pad_nan: bool
    round_tf32: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of a whole box: what a copy counts, in bounds or not."""
        return int(np.prod(self.block)) * int(numpy_dtype(self.dtype).itemsize)


class GlobalMemory:
    """Address ranges of one launch."""

    def __init__(self, allocations: Iterable[Allocation], lift: bool, complain: Callable[[str], None]) -> None:
        self.allocations = sorted(set(allocations), key=lambda a: a.start)
        self.starts = [a.start for a in self.allocations]
        self.lift = lift
        #: told about accesses outside every range
        self.complain = complain
        #: told about the addresses that are used
        self.observer: Observer | None = None
        #: keeps who touched what, if anybody wants to know
        self.sharing: Sharing | None = None
        for allocation in self.allocations:
            allocation.lifted.clear()

    def find(self, address: int) -> Allocation | None:
        """The allocation that contains ``address``."""
        index = bisect_right(self.starts, address) - 1
        if index >= 0 and address < self.allocations[index].stop:
            return self.allocations[index]
        other = allocation_at(address)
        if other is not None:  # a tensor that the launch was not given, but a pointer to it
            other.lifted.clear()
            self.allocations = sorted([*self.allocations, other], key=lambda a: a.start)
            self.starts = [a.start for a in self.allocations]
        return other

    def _elements(self, allocation: Allocation, dtype: np.dtype, floating: bool) -> np.ndarray:
        return allocation.lift(dtype) if self.lift and floating else allocation.elements(dtype)

    def gather(
        self, addresses: np.ndarray, mask: np.ndarray | None, dtype: Any, what: str, new: np.ndarray | None = None
    ) -> list[Any]:
        """Splits addresses by allocation: [(elements, flat positions, indices into the elements)].

        `new` are the values of a store, one for each address.
        """
        itemsize = numpy_dtype(dtype).itemsize
        flat = addresses.ravel()
        positions = np.arange(flat.size) if mask is None else np.flatnonzero(mask.ravel())
        if positions.size == 0:
            return []
        wanted = flat if mask is None else flat[positions]
        first, last = int(wanted.min()), int(wanted.max())
        if self.observer is not None:
            self.observer.touched(first, last + itemsize, what != "load", positions.size * itemsize)
        allocation = self.find(first)
        if allocation is not None and last + itemsize <= allocation.stop:
            return [self._part(allocation, dtype, positions, wanted, what, new)]
        return self._gather_scattered(positions, wanted, dtype, what, new)

    def _part(
        self,
        allocation: Allocation,
        dtype: Any,
        positions: np.ndarray,
        wanted: np.ndarray,
        what: str,
        new: np.ndarray | None,
    ) -> Any:
        kind = numpy_dtype(dtype)
        offsets = (wanted - np.uint64(allocation.start)).astype(np.int64)
        indices, rest = np.divmod(offsets, kind.itemsize)
        if rest.any():
            self.complain(
                f"address {int(wanted[np.flatnonzero(rest)[0]]):#x} is not a multiple of {kind.itemsize} bytes"
            )
        elements = self._elements(allocation, kind, dtype.scalar.is_floating())
        if self.sharing is not None and what == "load":
            self.sharing.loaded(allocation, offsets)
        elif self.sharing is not None and what == "atomic":
            self.sharing.updated(allocation, offsets)
        elif self.sharing is not None and new is not None:
            self.sharing.stored(allocation, offsets, _differs(elements[indices], new[positions]))
        return elements, positions, indices

    def _gather_scattered(
        self, positions: np.ndarray, wanted: np.ndarray, dtype: Any, what: str, new: np.ndarray | None
    ) -> list[Any]:
        itemsize = numpy_dtype(dtype).itemsize
        parts = []
        for address in np.unique(wanted).tolist():
            self.find(address)
        left: np.ndarray = np.ones(wanted.size, bool)
        for allocation in self.allocations:
            inside = (wanted >= np.uint64(allocation.start)) & (
                wanted + np.uint64(itemsize) <= np.uint64(allocation.stop)
            )
            if inside.any():
                parts.append(self._part(allocation, dtype, positions[inside], wanted[inside], what, new))
                left &= ~inside
        if left.any():
            self.complain(self._outside(what, int(left.sum()), int(wanted[np.flatnonzero(left)[0]])))
        return parts

    def _outside(self, what: str, count: int, address: int) -> str:
        index = bisect_right(self.starts, address) - 1
        if index >= 0:
            past = address - self.allocations[index].stop
            near = f"{past} bytes past the end of the tensor before it"
        else:
            near = "before every tensor"
        return f"{what} of {count} elements outside every tensor of the launch, the first {near}"

    def load(self, addresses: np.ndarray, mask: np.ndarray | None, other: np.ndarray | None, dtype: Any) -> np.ndarray:
        """Values at ``addresses``; masked elements get ``other``, or 0."""
        kind = FLOAT64 if self.lift and dtype.scalar.is_floating() else numpy_dtype(dtype)
        out: np.ndarray = np.zeros(addresses.size, kind)
        if other is not None:
            out[:] = np.broadcast_to(other, addresses.shape).ravel()
        for elements, positions, indices in self.gather(addresses, mask, dtype, "load"):
            out[positions] = elements[indices]
        out.shape = addresses.shape
        return out

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray | None, dtype: Any) -> None:
        """Writes ``values`` where the mask allows."""
        flat = np.broadcast_to(values, addresses.shape).ravel()
        for elements, positions, indices in self.gather(addresses, mask, dtype, "store", flat):
            elements[indices] = flat[positions]

    def update(
        self, addresses: np.ndarray, mask: np.ndarray | None, dtype: Any, change: Callable[[Any, int], Any]
    ) -> np.ndarray:
        """Atomics: applies ``change(old value, position)`` element by element and returns the old values."""
        kind = FLOAT64 if self.lift and dtype.scalar.is_floating() else numpy_dtype(dtype)
        out: np.ndarray = np.zeros(addresses.size, kind)
        for elements, positions, indices in self.gather(addresses, mask, dtype, "atomic"):
            for position, index in zip(positions.tolist(), indices.tolist(), strict=True):
                out[position] = elements[index]
                elements[index] = change(elements[index], position)
        out.shape = addresses.shape
        return out

    def _window(
        self, desc: Descriptor, offsets: tuple[int, ...], what: str
    ) -> tuple[np.ndarray, tuple[slice, ...]] | None:
        """The part of a box that lies inside the tensor, and where in the box it belongs."""
        size = numpy_dtype(desc.dtype).itemsize
        if offsets[-1] * size % TMA_UNIT:
            text = f"{what} at offsets {list(offsets)}: the last one is not on a multiple of {TMA_UNIT} bytes"
            raise SimulationError(f"{text}, where the TMA ends in an illegal instruction", here())
        inside, extents, start = [], [], 0
        for offset, box, extent, stride in zip(offsets, desc.block, desc.shape, desc.strides, strict=True):
            low, high = max(offset, 0), min(offset + box, extent)
            if low >= high:
                return None
            inside.append(slice(low - offset, high - offset))
            extents.append(high - low)
            start += low * stride
        kind = numpy_dtype(desc.dtype)
        allocation = self.find(desc.address)
        last = start + sum((n - 1) * s for n, s in zip(extents, desc.strides, strict=True))
        if allocation is None or desc.address + (last + 1) * kind.itemsize > allocation.stop:
            self.complain(f"{what} at offsets {list(offsets)}: the descriptor reaches past the end of its tensor")
            return None
        if self.observer is not None:
            low, high = desc.address + start * kind.itemsize, desc.address + (last + 1) * kind.itemsize
            self.observer.touched(low, high, what.endswith("store"), desc.nbytes)
        elements = self._elements(allocation, kind, desc.dtype.is_floating())
        first = (desc.address - allocation.start) // kind.itemsize + start
        steps = tuple(stride * elements.itemsize for stride in desc.strides)
        # Not as_strided: it loses the types of ml_dtypes.
        part: np.ndarray = np.ndarray(
            extents, elements.dtype, elements.view(np.uint8).data, first * elements.itemsize, steps
        )
        return part, tuple(inside)

    def load_box(self, desc: Descriptor, offsets: tuple[int, ...]) -> np.ndarray:
        """A whole box; what lies outside the tensor is 0, or NaN if the descriptor says so."""
        kind = FLOAT64 if self.lift and desc.dtype.is_floating() else numpy_dtype(desc.dtype)
        box: np.ndarray = np.full(desc.block, np.nan, kind) if desc.pad_nan else np.zeros(desc.block, kind)
        window = self._window(desc, offsets, "descriptor load")
        if window is not None:
            values, inside = window
            box[inside] = round_to_tf32(values) if desc.round_tf32 and not self.lift else values
        return box

    def store_box(self, desc: Descriptor, offsets: tuple[int, ...], values: np.ndarray, combine: Any = None) -> None:
        """Writes the part of a box that lies inside the tensor; ``combine`` of what is there and it, if given."""
        window = self._window(desc, offsets, "descriptor store")
        if window is not None:
            target, inside = window
            new = values.reshape(desc.block)[inside]
            target[...] = new if combine is None else combine(target, new)


def _differs(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Which elements a store changes, bit by bit."""
    patterns = [np.ascontiguousarray(a).view(np.uint8).reshape(old.size, -1) for a in (old, new.astype(old.dtype))]
    changed: np.ndarray = (patterns[0] != patterns[1]).any(axis=1)
    return changed
