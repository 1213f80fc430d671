"""Lowering of cp.async and TMA."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton._C.libtriton import ir
from triton.experimental.gluon.language._layouts import NVMMASharedLayout, PaddedSharedLayout
from triton.experimental.gluon.language.nvidia import hopper

from ..builtin import TLXError, described, known_zero, unwrap
from ..types import buffered_tensor, buffered_tensor_type
from . import versions
from .descriptors import TensorDescriptor
from .state import current
from .tmem import TensorMemorySemantic


class CopySemantic(TensorMemorySemantic):
    """Asynchronous copies."""

    def copy_to_shared(
        self, src: Any, dst: Any, mask: Any, other: Any, cache_modifier: str, eviction_policy: str, volatile: bool
    ) -> None:
        """cp.async, one element block."""
        tile = self._tile(dst, "async_load")
        src = self.to_tensor(src)
        if not src.type.is_block() or not src.type.scalar.is_ptr():
            raise TLXError("async_load copies from a block of pointers")
        if src.dtype.element_ty != tile.dtype:
            raise TLXError(f"async_load of {src.dtype.element_ty} into a buffer of {tile.dtype}")
        if [unwrap(extent) for extent in src.shape] != tile.shape:
            raise TLXError(f"async_load of a block of shape {src.type.shape} into a tile of shape {tile.shape}")
        if other is not None and mask is None:
            raise TLXError("other makes sense with a mask only")
        if isinstance(tile.layout, PaddedSharedLayout) and not current().gfx:
            raise TLXError("async_load: cp.async cannot write to a tile of padded layout, which AMD's copies can")
        # cp.async fills with zeros by itself, and Triton's lowering of it never looks at the fill value. AMD's copies
        # leave what lies there as it is, unless a fill value is given.
        fill = None
        if current().gfx and mask is not None:
            fill = self.cast(self.to_tensor(0 if other is None else other), tile.dtype)
        elif other is not None and not known_zero(other):
            raise TLXError(
                f"async_load fills masked elements with 0, and other is {described(other)}: cp.async knows no other "
                "value; load with tl.load and local_store, or choose with tl.where after local_load"
            )
        gate = self._mask(mask, "async_load")
        src, gate, fill = self._together(src, gate, fill)
        versions.cp_async(src, tile.gluon(), gate, fill, cache_modifier, eviction_policy, bool(volatile), self)

    def copy_commit(self) -> None:
        """cp.async.commit_group."""
        hopper.async_copy.commit_group(_semantic=self)

    def copy_wait(self, pendings: int) -> None:
        """cp.async.wait_group, and a fence: the copies wrote through the generic proxy, wgmma and TMA read through
        the async one.
        """
        hopper.async_copy.wait_group(pendings, _semantic=self)
        if not current().gfx:
            hopper.fence_async_shared(_semantic=self)

    # ---- TMA ----------------------------------------------------------------------------------------------------

    def _coordinates(self, desc: TensorDescriptor, offsets: Any) -> Any:
        values = list(offsets) if not hasattr(offsets, "values") else list(offsets.values)
        if len(values) != len(desc.block_shape):
            raise TLXError(f"the descriptor has {len(desc.block_shape)} dimensions, {len(values)} offsets were given")
        # TMA coordinates are 32 bits wide.
        return tl.tuple([self._whole_number(value, "an offset of a descriptor") for value in values])

    def _matched(self, desc: Any, tile: buffered_tensor, what: str) -> Any:
        """The tile as the descriptor's copy needs it: the same block, and the layout that the descriptor was made
        for.
        """
        if not isinstance(desc, TensorDescriptor):
            raise TLXError(f"{what} takes a tensor descriptor, not {described(desc)}")
        block = [unwrap(extent) for extent in desc.block_shape]
        if desc.dtype != tile.dtype:
            raise TLXError(f"{what}: the descriptor holds {desc.dtype}, the buffer {tile.dtype}")
        lead = len(block) - len(tile.shape)
        if lead < 0 or any(extent != 1 for extent in block[:lead]) or block[lead:] != tile.shape:
            raise TLXError(f"{what}: the descriptor's block is {block}, the tile is {tile.shape}")
        if not isinstance(tile.layout, NVMMASharedLayout) or tile.layout.transposed:
            raise TLXError(f"{what}: TMA cannot reach a tile of layout {tile.layout}")
        swizzles = [getattr(layout, "swizzle_byte_width", 0) for layout in (tile.layout, desc.layout)]
        if swizzles[0] != swizzles[1]:
            raise TLXError(
                f"{what}: the tile is swizzled by {swizzles[0]} bytes, and what the descriptor copies by {swizzles[1]}"
            )
        if not lead:
            return tile.gluon()
        layout = desc.layout
        raw = self.memdesc_reinterpret(tile.gluon(), tile.dtype, block, layout)
        return buffered_tensor(raw.handle, buffered_tensor_type(tile.dtype, block, 0, layout, block)).gluon()

    def tma_load(self, desc: Any, result: Any, offsets: Any, bar: Any, pred: Any, eviction: str = "") -> None:
        """cp.async.bulk.tensor, global to shared."""
        self.only_nvidia("async_descriptor_load")
        raw = self._matched(desc, self._tile(result, "async_descriptor_load"), "async_descriptor_load")
        signal = self._single(bar, "async_descriptor_load").gluon()
        versions.tma_load(desc, self._coordinates(desc, offsets), signal, raw, self._predicate(pred), eviction, self)

    def tma_store(self, desc: Any, source: Any, offsets: Any, eviction: str = "", reduce: str = "") -> None:
        """cp.async.bulk.tensor or cp.reduce.async.bulk.tensor, shared to global."""
        self.only_nvidia("async_descriptor_store")
        raw = self._matched(desc, self._tile(source, "async_descriptor_store"), "async_descriptor_store")
        places = self._coordinates(desc, offsets)
        if not reduce:
            versions.tma_store(desc, places, raw, eviction, self)
            return
        bits, name = desc.dtype.primitive_bitwidth, str(desc.dtype)
        if reduce in ("and", "or", "xor") and not desc.dtype.is_int():
            raise TLXError(f"store_reduce={reduce!r} combines bits of integers, not {name}")
        if bits not in (16, 32, 64) or (bits == 16 and desc.dtype.is_int()):
            raise TLXError(
                f"store_reduce: TMA combines 32- and 64-bit integers and floats of 16 and 32 bits, not {name}"
            )
        kind = getattr(ir.DESCRIPTOR_REDUCE_KIND, reduce.upper())
        self.builder.create_async_tma_reduce(kind, desc.handle, [value.handle for value in places.values], raw.handle)

    def tma_store_wait(self, pendings: int) -> None:
        """cp.async.bulk.wait_group.read."""
        hopper.tma.store_wait(pendings, _semantic=self)

    def descriptor_block_load(self, desc: TensorDescriptor, offsets: Any) -> Any:
        """``desc.load``: a TMA load waited for on the spot."""
        block = [unwrap(extent) for extent in desc.block_shape]
        slot = self.shared_view(self.shared_alloc(block, desc.dtype, 1, None), 0)
        done = self.shared_view(self.mbarrier_alloc(1, 1, False), 0)
        size = self._bytes(slot)
        self.mbarrier_expect(done, size, None)
        self.tma_load(desc, slot, offsets, done, None)
        self.mbarrier_wait(done, 0, None)
        return self.shared_to_registers(slot)

    def descriptor_block_store(self, desc: TensorDescriptor, offsets: Any, value: Any) -> None:
        """``desc.store``: through shared memory of its own, waited for on the spot."""
        block = [unwrap(extent) for extent in desc.block_shape]
        slot = self.shared_view(self.shared_alloc(block, desc.dtype, 1, None), 0)
        # The store into shared memory brings its fence along.
        self.registers_to_shared(slot, self.cast(self.to_tensor(value), desc.dtype))
        self.tma_store(desc, slot, offsets)
        self.tma_store_wait(0)
