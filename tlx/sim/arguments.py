"""The memory behind the arguments of a launch, saved so that the launch can be repeated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from triton.tools.tensor_descriptor import TensorDescriptor

from .tensors import Allocation, is_tensor, tensor


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors that a launch argument holds: itself, the base of a descriptor, or those in a tuple."""
    if isinstance(value, TensorDescriptor):
        yield value.base
    elif isinstance(value, tuple):
        for item in value:
            yield from tensors_in(item)
    elif is_tensor(value):
        yield value


class Snapshot:
    """The contents of every allocation that the arguments reach."""

    def __init__(self, arguments: Iterable[Any]) -> None:
        reached = [tensor(item) for argument in arguments for item in tensors_in(argument)]
        #: kept alive: an allocation lives as long as one of its tensors
        self.tensors = reached
        self.allocations: list[Allocation] = list({id(t.allocation): t.allocation for t in reached}.values())
        self.saved = [allocation.bytes.copy() for allocation in self.allocations]

    def restore(self) -> None:
        """Puts the contents back."""
        for allocation, saved in zip(self.allocations, self.saved, strict=True):
            if allocation.bytes.flags.writeable:
                allocation.bytes[...] = saved

    def digest(self) -> bytes:
        """A digest of the contents as they are now."""
        state = hashlib.sha256()
        for allocation in self.allocations:
            state.update(allocation.bytes.tobytes())
        return state.digest()
