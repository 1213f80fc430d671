"""Tensor descriptors as kernels see them: Gluon's, with the block ``load`` and ``store`` of Triton's."""

from __future__ import annotations

from typing import Any

from triton.experimental.gluon.language._layouts import NVMMASharedLayout
from triton.experimental.gluon.language.nvidia.hopper.tma import tensor_descriptor, tensor_descriptor_type
from triton.language.core import tensor_descriptor_type as triton_descriptor_type

from ..builtin import builtin


class TensorDescriptorType(tensor_descriptor_type):  # type: ignore[misc]
    """Type of a ``TensorDescriptor``."""

    #: position among the kernel's flattened arguments, for a descriptor that the host made
    parameter: int | None = None

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[Any, int]:
        handle = handles[cursor]
        shape, cursor = self.shape_type._unflatten_ir(handles, cursor + 1)
        strides, cursor = self.strides_type._unflatten_ir(handles, cursor)
        value = TensorDescriptor(handle, shape, strides, self.block_type, self.layout)
        value.type.parameter = self.parameter
        return value, cursor


class TensorDescriptor(tensor_descriptor):  # type: ignore[misc]
    """A TMA descriptor. ``load`` and ``store`` move one block and wait; the asynchronous forms are in ``tlx``."""

    def __init__(self, handle: Any, shape: Any, strides: Any, block_type: Any, layout: Any) -> None:
        super().__init__(handle, shape, strides, block_type, layout)
        self.type = TensorDescriptorType(
            block_type, shape_type=self.shape.type, strides_type=self.strides.type, layout=layout
        )

    @builtin
    def load(self, offsets: Any, _semantic: Any = None) -> Any:
        """The block at ``offsets`` (elements) as a tensor; parts outside the array read as zero."""
        return _semantic.descriptor_block_load(self, offsets)

    @builtin
    def store(self, offsets: Any, value: Any, _semantic: Any = None) -> None:
        """Writes a block at ``offsets`` (elements); parts outside the array are dropped."""
        _semantic.descriptor_block_store(self, offsets, value)


def adopt_type(ty: Any) -> Any:
    """Our descriptor type in place of Triton's or Gluon's, also inside tuples; any other type unchanged."""
    if isinstance(ty, triton_descriptor_type):
        shape = list(ty.block_type.shape)
        layout = NVMMASharedLayout.get_default_for(shape, ty.block_type.element_ty)
        return TensorDescriptorType(ty.block_type, ty.shape_type, ty.strides_type, layout)
    if type(ty) is tensor_descriptor_type:
        return TensorDescriptorType(ty.block_type, ty.shape_type, ty.strides_type, ty.layout)
    if hasattr(ty, "types"):
        ty.types[:] = [adopt_type(item) for item in ty.types]
    return ty


def adopt(value: Any) -> Any:
    """A descriptor made by Gluon as one of ours."""
    return TensorDescriptor(value.handle, value.shape, value.strides, value.block_type, value.layout)
