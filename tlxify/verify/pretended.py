"""Tensors that exist in name only: what a launcher and a guard ask of them has answers, but there is no memory."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tlx.sim.tensors import Allocation, SimTensor, Storage


class Pretended(SimTensor):
    """A tensor of any size with an address of its own, whose elements must not be touched."""

    __slots__ = ("start", "stored")

    #: Addresses are multiples of what any alignment asks for, and farther apart than memory is large.
    _next = itertools.count(1 << 44, 1 << 44)

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...]) -> None:
        """`strides` are in elements."""
        # Of as many bytes: numpy's own functions do not know every type.
        one: np.ndarray = np.empty(1, f"u{dtype.itemsize}")
        steps = [stride * dtype.itemsize for stride in strides]
        super().__init__(as_strided(one, shape, steps, writeable=False).view(dtype), Allocation(one))
        last = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) if all(shape) else 0
        self.start, self.stored = next(self._next), (1 + last) * dtype.itemsize

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self.start

    def untyped_storage(self) -> Storage:
        """Where it would lie."""
        return Storage(self.start, self.stored)
