"""Descriptors made on the device, in a ring of places."""

from __future__ import annotations

from typing import Any

from triton.experimental.gluon.language._layouts import NVMMASharedLayout
from triton.experimental.gluon.language.nvidia.hopper.tma import make_tensor_descriptor

from ..builtin import TLXError, unwrap
from ..descriptors import tensor_descriptor_ptr
from .clc import ClcSemantic
from .descriptors import TensorDescriptor, adopt


class ScratchSemantic(ClcSemantic):
    """Descriptors in global memory."""

    def make_tensor_descriptor(
        self, base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: str = "zero"
    ) -> Any:
        """``tl.make_tensor_descriptor``, on the device."""
        block = [unwrap(extent) for extent in block_shape]
        element = base.dtype.element_ty
        if padding_option == "nan" and element.is_floating() and element.primitive_bitwidth < 16:
            raise TLXError(f'padding_option="nan": the TMA moves {element} as bytes, which it can fill with 0 only')
        layout = NVMMASharedLayout.get_default_for(block, base.dtype.element_ty)
        return adopt(
            make_tensor_descriptor(base, shape, strides, block, layout, padding_option=padding_option, _semantic=self)
        )

    def make_descriptor_in(
        self, place: tensor_descriptor_ptr, base: Any, shape: Any, strides: Any, block_shape: Any, padding: str
    ) -> Any:
        """A descriptor in one of several places.

        Each operation that makes one owns 128 bytes of scratch memory. So there is one for each place, and a branch
        chooses which of them is executed.
        """
        made = self._chosen(place, 0, lambda: self.make_tensor_descriptor(base, shape, strides, block_shape, padding))
        place.made["slot"], place.made["descriptor"] = place.slot, made
        return made

    def _chosen(self, place: tensor_descriptor_ptr, first: int, make: Any) -> Any:
        if first == place.num - 1:
            return make()
        builder = self.builder
        here = place.slot.__eq__(first, _semantic=self)
        # A first copy tells the type of the result; it is made in a block that is thrown away.
        kept = builder.get_insertion_point()
        trial = builder.create_block()
        builder.set_insertion_point_to_start(trial)
        like = make()
        ty = like.handle.get_type()
        trial.erase()
        builder.restore_insertion_point(kept)
        branch = builder.create_if_op([ty], here.handle, True)
        after = builder.get_insertion_point()
        builder.set_insertion_point_to_start(branch.get_then_block())
        # Branches that look alike would be merged, and their memory with them.
        self.inline_statement(f"// descriptor place {first} of {place.num}")
        value = make()
        builder.create_yield_op([value.handle])
        builder.set_insertion_point_to_start(branch.get_else_block())
        other = self._chosen(place, first + 1, make)
        builder.create_yield_op([other.handle])
        builder.restore_insertion_point(after)
        # Shape and strides are those given, which exist outside the branch.
        return TensorDescriptor(branch.get_result(0), like.shape, like.strides, like.block_type, like.layout)

    def descriptor_from(self, place: tensor_descriptor_ptr, block: list[int], dtype: Any) -> Any:
        """The descriptor made last, if it is in this place."""
        made, slot = place.made.get("descriptor"), place.made.get("slot")
        same = slot is not None and (slot is place.slot or slot.handle.id() == place.slot.handle.id())
        if made is None or not same:
            raise TLXError(
                "only the place in which the last descriptor was made can be read: stock Triton has no operation that "
                "reads a descriptor from memory. Index both calls with the same variable"
            )
        if [unwrap(extent) for extent in made.block_shape] != block or made.dtype != dtype:
            raise TLXError(
                f"this place holds a descriptor of {made.dtype} blocks {made.block_shape}, not {dtype}{block}"
            )
        return made
