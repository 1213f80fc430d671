"""Tensor descriptors made on the device, and where they are kept."""

from __future__ import annotations

from typing import Any

from triton.language.core import base_type, base_value

from .builtin import TLXError, builtin, constant, unwrap

#: bytes of one tensor map
_SIZE = 128


class tensor_descriptor_ptr_type(base_type):  # type: ignore[misc]
    """Type of a ``tensor_descriptor_ptr``; nothing of it reaches the IR."""

    def __init__(self, num: int, size: int = _SIZE, value: Any = None) -> None:
        self.num = num
        self.size = size
        #: the one value of this type; a loop that carries it gets it back
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_ptr_type) and (self.num, self.size) == (other.num, other.size)

    def __hash__(self) -> int:
        return hash((self.num, self.size))

    def __repr__(self) -> str:
        return f"tensor_descriptor_ptr<{self.num}>"

    def mangle(self) -> str:
        """A text for names of specialised helper functions."""
        return f"tensor_desc_ptr_{self.num}_{self.size}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        pass

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        return self.value, cursor


class tensor_descriptor_ptr(base_value):  # type: ignore[misc]
    """Places for ``num`` descriptors, or one of them.

    ``slot`` is the place, ``made`` what was last put into any of them.
    """

    def __init__(self, num: int, slot: Any = None, made: dict[str, Any] | None = None) -> None:
        self.handle = None
        self.slot = slot
        self.made: dict[str, Any] = {} if made is None else made
        self.type = tensor_descriptor_ptr_type(num, value=self)

    @property
    def num(self) -> int:
        """How many descriptors there is room for."""
        return int(self.type.num)

    @property
    def descriptor_size(self) -> int:
        """Bytes of one descriptor."""
        return int(self.type.size)

    def _flatten_ir(self, handles: list[Any]) -> None:
        pass

    def _set_name(self, builder: Any, name: str) -> None:
        pass

    @builtin
    def __getitem__(self, index: Any, _semantic: Any = None) -> Any:
        """One of the places."""
        if isinstance(unwrap(index), list):
            raise TLXError("a descriptor is chosen by one number")
        return tensor_descriptor_ptr(self.num, _semantic.to_tensor(index), self.made)


@builtin
def allocate_tensor_descriptor(num: int, _semantic: Any = None) -> tensor_descriptor_ptr:
    """Room for ``num`` descriptors in global memory, 128 bytes each; the host needs ``triton.set_allocator``."""
    count = constant(num, "num")
    if count < 1:
        raise TLXError(f"num must be at least 1, not {count}")
    return tensor_descriptor_ptr(count)


@builtin
def make_tensor_descriptor(
    desc_ptr: tensor_descriptor_ptr | None,
    base: Any,
    shape: Any,
    strides: Any,
    block_shape: Any,
    padding_option: str = "zero",
    _semantic: Any = None,
) -> Any:
    """A TMA descriptor made by the kernel.

    Args:
        desc_ptr: the place for it, ``allocate_tensor_descriptor(n)[i]``, or None for one of its own. Nobody checks that
            loads through an older descriptor in the same place are done.
        base: pointer, aligned to 16 bytes.
        shape: extents of the tensor, one to five, in elements.
        strides: in elements; the last is the constant 1, the others are multiples of 16 bytes.
        block_shape: constants; the last dimension has at least 16 bytes.
        padding_option: "zero" or "nan", what is read outside the tensor.
    """
    place = unwrap(desc_ptr)
    if place is None:
        return _semantic.make_tensor_descriptor(base, shape, strides, block_shape, unwrap(padding_option))
    if not isinstance(place, tensor_descriptor_ptr) or place.slot is None:
        raise TLXError("desc_ptr is one place, allocate_tensor_descriptor(n)[i], or None")
    return _semantic.make_descriptor_in(place, base, shape, strides, block_shape, unwrap(padding_option))


@builtin
def reinterpret_tensor_descriptor(
    desc_ptr: tensor_descriptor_ptr, block_shape: Any, dtype: Any, _semantic: Any = None
) -> Any:
    """The descriptor that was made in a place.

    Args:
        desc_ptr: the place.
        block_shape: constants, as the descriptor was made with.
        dtype: element type.

    Raises:
        TLXError: the place is not the one in which the last descriptor was made. Stock Triton has no operation that
            reads a descriptor from memory, so only that one is known.
    """
    if not isinstance(desc_ptr, tensor_descriptor_ptr) or desc_ptr.slot is None:
        raise TLXError("desc_ptr is one place, allocate_tensor_descriptor(n)[i]")
    block = [constant(extent, "block_shape") for extent in unwrap(block_shape)]
    return _semantic.descriptor_from(desc_ptr, block, unwrap(dtype))
