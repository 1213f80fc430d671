"""TMA descriptors made by the kernel, and the memory they are kept in."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ..report import SimulationError
from ..sites import here
from ..unwrap import integer, plain
from .register import name


class DescriptorSlots:
    """What ``allocate_tensor_descriptor`` returns, and each of its elements."""

    def __init__(self, slots: list[Any], first: int = 0) -> None:
        self.slots = slots
        self.first = first

    @property
    def num(self) -> int:
        """Descriptors from here on."""
        return len(self.slots) - self.first

    def __getitem__(self, index: Any) -> DescriptorSlots:
        at = self.first + integer(index)
        if not 0 <= at < len(self.slots):
            raise SimulationError(f"descriptor {at} of {len(self.slots)}", here())
        return DescriptorSlots(self.slots, at)


@name
def allocate_tensor_descriptor(num: Any, _semantic: Any = None) -> DescriptorSlots:
    """Room for ``num`` descriptors."""
    return DescriptorSlots([None] * integer(num))


@name
def make_tensor_descriptor(
    desc_ptr: Any,
    base: Any,
    shape: Any,
    strides: Any,
    block_shape: Any,
    padding_option: str = "zero",
    _semantic: Any = None,
) -> Any:
    """A descriptor over global memory, kept at ``desc_ptr`` unless that is None."""
    made = _semantic.make_tensor_descriptor(
        base,
        list(plain(shape)),
        [x if isinstance(x, tl.tensor) else tl.constexpr(plain(x)) for x in plain(strides)],
        [tl.constexpr(integer(x)) for x in plain(block_shape)],
        plain(padding_option),
    )
    slots = plain(desc_ptr)
    if slots is not None:
        slots.slots[slots.first] = made
    return made


@name
def reinterpret_tensor_descriptor(desc_ptr: Any, block_shape: Any, dtype: Any, _semantic: Any = None) -> Any:
    """The descriptor kept at ``desc_ptr``, whose block and type the caller knows.

    Raises:
        SimulationError: there is none, or it has another block or type.
    """
    made = desc_ptr.slots[desc_ptr.first]
    if made is None:
        raise SimulationError("no descriptor has been made here yet", here())
    block, kind = tuple(integer(x) for x in plain(block_shape)), plain(dtype)
    if made.handle.block != block or made.handle.dtype != kind:
        what = f"the descriptor moves {made.handle.dtype}{list(made.handle.block)}, not {kind}{list(block)}"
        raise SimulationError(what, here())
    return made
