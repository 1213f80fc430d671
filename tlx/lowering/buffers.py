"""Lowering of shared-memory buffers and their views."""

from __future__ import annotations

import ast
import math
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language._layouts import NVMMASharedLayout, PaddedSharedLayout
from triton.experimental.gluon.language.nvidia import hopper

from ..builtin import TLXError, described, unwrap
from ..types import _SharedValue, buffered_tensor, buffered_tensor_type, mbarrier, mbarrier_type, storage_kind
from . import versions
from .barriers import BarrierSemantic
from .layouts import default_layout, loaded_layout, shared_layout
from .overlap import SlotMap


def _power_of_two(extent: int) -> bool:
    return extent > 0 and extent & (extent - 1) == 0


class BufferSemantic(BarrierSemantic):
    """Tiles in shared memory."""

    def tile_type(self, shape: list[int], dtype: Any, num: int, asked: Any = None) -> buffered_tensor_type:
        """The type of an array of tiles in shared memory, in the layout that is asked for or that they have."""
        if not isinstance(dtype, tl.dtype) or dtype.is_ptr():
            raise TLXError(f"local_alloc takes an element type, not {described(dtype)}")
        if dtype == tl.int1:
            raise TLXError("a tile cannot hold booleans: store them as int8")
        if not shape or not all(map(_power_of_two, shape)):
            raise TLXError(f"extents of a tile must be powers of two, not {shape}")
        return buffered_tensor_type(dtype, shape, num, self._layout(shape, dtype, asked), [num, *shape])

    def _layout(self, shape: list[int], dtype: Any, asked: Any) -> Any:
        if asked is None:
            return shared_layout(shape, dtype)
        layout = asked.gluon(shape, dtype)
        if isinstance(layout, NVMMASharedLayout):
            self.only_nvidia(type(asked).__name__)
        return layout

    @staticmethod
    def _packed(layout: Any, what: str) -> None:
        """A tile with unused bytes in it is larger than its elements."""
        if isinstance(layout, PaddedSharedLayout):
            raise TLXError(f"{what}: a tile of padded layout has memory of its own")

    def shared_alloc(self, shape: list[int], dtype: Any, num: int, reuse: Any, asked: Any = None) -> buffered_tensor:
        """A new array of tiles, or one that takes over the memory of ``reuse``."""
        ty = self.tile_type(shape, dtype, num, asked)
        if reuse is None:
            raw = ttgl.allocate_shared_memory(dtype, ty.full_shape, ty.layout, _semantic=self)
            fresh = buffered_tensor(raw.handle, ty)
            fresh.owns = True
            return fresh
        if not isinstance(reuse, buffered_tensor) or reuse.storage is not storage_kind.smem:
            raise TLXError("reuse takes a buffer in smem from local_alloc, or a storage_alias_spec")
        self._packed(ty.layout, "reuse")
        self._whole(reuse, "reuse")
        have, want = self._bytes(reuse), math.prod(ty.full_shape) * dtype.primitive_bitwidth // 8
        if want > have:
            raise TLXError(f"reuse: the buffer has {have} bytes, {want} are needed")
        ty = self.widened(ty, have * 8)
        raw = self.memdesc_reinterpret(reuse.gluon(), dtype, ty.full_shape, ty.layout)
        return buffered_tensor(raw.handle, ty)

    @staticmethod
    def widened(ty: buffered_tensor_type, bits: int) -> buffered_tensor_type:
        """The same ring in memory of so many bits, of which it uses the first."""
        wide = bits // ty.slot_bits
        slots = ty.slots or (1, 0, 1, wide)
        same = ty.slots is None and wide == ty.num
        return buffered_tensor_type(
            ty.element_ty,
            ty.shape,
            ty.num,
            ty.layout,
            [wide, *ty.shape],
            ty.storage,
            None if same else (*slots[:3], wide),
        )

    @staticmethod
    def _bytes(buf: buffered_tensor) -> int:
        return int(math.prod(buf.type.full_shape) * buf.dtype.primitive_bitwidth // 8)

    def _view(self, raw: Any, dtype: Any, storage: storage_kind = storage_kind.smem) -> buffered_tensor:
        ty = buffered_tensor_type(dtype, list(raw.shape), 0, raw.layout, list(raw.type.alloc_shape), storage)
        return buffered_tensor(raw.handle, ty)

    def _tile(self, buf: Any, what: str) -> buffered_tensor:
        if not isinstance(buf, buffered_tensor):
            raise TLXError(f"{what} takes a buffer view, not {described(buf)}")
        if buf.num:
            raise TLXError(f"{what} takes one tile, not an array of {buf.num}: write buf[slot]")
        return buf

    def _in_shared(self, buf: Any, what: str) -> buffered_tensor:
        tile = self._tile(buf, what)
        if tile.storage is not storage_kind.smem:
            raise TLXError(f"{what} takes a tile in shared memory, not in {tile.storage.name}")
        return tile

    def _whole(self, buf: buffered_tensor, what: str) -> None:
        """Bytes can only be read as something else where they lie together and in their natural order."""
        rank = len(buf.type.full_shape)
        if buf.type.alloc_shape[-rank:] != buf.type.full_shape or buf.layout != shared_layout(buf.shape, buf.dtype):
            raise TLXError(
                f"{what} takes a whole tile or buffer in its default layout, not a slice or a transposed view"
            )

    def shared_view(self, buf: Any, index: Any) -> Any:
        """One slot of an array; of a view, one entry of its leading dimension."""
        if not isinstance(buf, _SharedValue):
            raise TLXError(f"local_view takes a buffer or barriers, not {described(buf)}")
        extent = buf.num or buf.shape[0]
        if isinstance(buf, mbarrier) and not buf.num:
            raise TLXError("this already is one barrier: it cannot be indexed")
        slot = unwrap(index)
        if isinstance(slot, list):
            if len(slot) != 1:
                raise TLXError("a buffer is indexed by one slot number; use local_slice for parts of a tile")
            slot = slot[0]
        if isinstance(slot, int) and not 0 <= slot < extent:
            raise TLXError(f"slot {slot} is out of range: there are {extent}")
        member = buf.type.slots[:3] if isinstance(buf, buffered_tensor) and buf.num and buf.type.slots else None
        if member is not None:
            slot = self._among_others(slot, *member)
        slot = self.to_tensor(slot)
        if slot.type.is_block() or not slot.type.scalar.is_int():
            raise TLXError(f"a slot number must be an integer scalar, not {slot.type}")
        if isinstance(buf, buffered_tensor) and buf.storage is storage_kind.tmem:
            if not buf.num:
                raise TLXError("this already is one tile in tmem: take columns of it with local_slice")
            raw = buf.gluon().index(self.cast(slot, tl.int32), _semantic=self)
            if buf.type.scales:
                shape = list(buf.type.scales)
                ty = buffered_tensor_type(tl.uint8, shape, 0, versions.scales_layout(), shape, storage_kind.tmem)
                return buffered_tensor(self.builder.create_memdesc_reinterpret(ty.to_ir(self.builder), raw.handle), ty)
        elif isinstance(buf, buffered_tensor) and not buf.num:
            raw = self.memdesc_index(self._entries(buf), self.cast(slot, tl.int32))
        else:
            raw = self.memdesc_index(buf.gluon(), self.cast(slot, tl.int32))
        if member is not None:
            # For slots.py: the ring is wider than the member.
            told = ",".join(map(str, (buf.num, *member)))
            raw.handle.set_attr("tlx_member", self.builder.get_string_attr(told))
        if isinstance(buf, mbarrier):
            return mbarrier(raw.handle, mbarrier_type(ttgl.int64, 0, buf.layout, [1], buf.is_warp_barrier))
        if not isinstance(buf, buffered_tensor):
            ty = type(buf.type)(buf.type.element_ty, buf.shape, 0, buf.layout, buf.shape)
            return ty.wrap(raw.handle)
        return self._view(raw, buf.dtype, buf.storage)

    def _entries(self, tile: buffered_tensor) -> Any:
        """A tile as a ring of the entries of its first dimension, which must each lie together.

        They do in linear memory, and in a swizzled tile if they are whole repetitions of the pattern (eight rows) and
        no wider than it.
        """
        self._whole(tile, "local_view of a tile")
        entry = tile.shape[1:] or [1]
        layout = shared_layout(entry, tile.dtype)
        if len(tile.shape) > 1 and isinstance(tile.layout, NVMMASharedLayout):
            swizzle = tile.layout.swizzle_byte_width
            width = entry[-1] * tile.dtype.primitive_bitwidth // 8
            rows = math.prod(entry[:-1])
            alike = getattr(layout, "swizzle_byte_width", 0) == swizzle
            if not alike or width > max(swizzle, 16) or (swizzle and rows % 8):
                raise TLXError(
                    f"local_view: the entries of a tile {tile.shape} swizzled by {swizzle} bytes do not lie together; "
                    "use local_slice"
                )
        return self.memdesc_reinterpret(tile.gluon(), tile.dtype, [tile.shape[0], *entry], layout)

    def _among_others(self, index: Any, scale: int, offset: int, group: int) -> Any:
        """The slot of the widened ring that a member's slot is."""
        if isinstance(index, int):
            return SlotMap(scale, offset, group)(index)
        whole, part = index, None
        if group > 1:
            whole = index.__floordiv__(group, _semantic=self)
            part = index.__mod__(group, _semantic=self)
        place = whole.__mul__(scale, _semantic=self).__add__(offset, _semantic=self)
        return place if part is None else place.__add__(part, _semantic=self)

    def shared_slice(self, buf: Any, offset: list[Any], shape: list[int]) -> buffered_tensor:
        """A rectangular part of a tile."""
        tile = self._tile(buf, "local_slice")
        offset = [unwrap(start) for start in offset]
        if not all(isinstance(start, int) for start in offset):
            return self._rows_at(tile, offset, shape)
        if not len(offset) == len(shape) == len(tile.shape):
            raise TLXError(f"local_slice needs {len(tile.shape)} offsets and extents")
        for start, size, extent in zip(offset, shape, tile.shape, strict=True):
            if start < 0 or not _power_of_two(size) or start % size or start + size > extent:
                raise TLXError(f"local_slice: {size} from {start} is no aligned part of {extent}")
        ty = ttgl.shared_memory_descriptor_type(tile.dtype, shape, tile.layout, tile.type.alloc_shape)
        handle = self.builder.create_memdesc_subslice(ty.to_ir(self.builder), tile.handle, offset)
        return buffered_tensor(handle, buffered_tensor_type(tile.dtype, shape, 0, tile.layout, tile.type.alloc_shape))

    def _rows_at(self, tile: buffered_tensor, offset: list[Any], shape: list[int]) -> buffered_tensor:
        """A slice that starts at a run-time offset.

        The tile becomes a ring of slices, so slices must lie one after the other: whole rows, each no longer than the
        swizzle pattern.
        """
        rest = tile.shape[1:]
        if offset[1:] != [0] * len(rest) or shape[1:] != rest or len(shape) != len(tile.shape):
            raise TLXError("local_slice: only the first offset may be known at run time, of slices of whole rows")
        rows, extent = shape[0], tile.shape[0]
        width = math.prod(rest) * tile.dtype.primitive_bitwidth // 8
        swizzle = getattr(tile.layout, "swizzle_byte_width", 0)
        if (rest and width > max(swizzle, 16)) or rows < (8 if rest else 1):
            raise TLXError(
                f"local_slice: {rows} rows of {width} bytes do not lie together in a tile swizzled by {swizzle} bytes, "
                "so their offset must be a compile-time constant"
            )
        if not _power_of_two(rows) or rows > extent:
            raise TLXError(f"local_slice: {rows} rows are no part of {extent}")
        self._whole(tile, "local_slice with a run-time offset")
        ring = self.memdesc_reinterpret(tile.gluon(), tile.dtype, [extent // rows, *shape], tile.layout)
        slot = self.to_tensor(offset[0]).__floordiv__(rows, _semantic=self)
        return self._view(self.memdesc_index(ring, self.cast(slot, tl.int32)), tile.dtype)

    def shared_trans(self, buf: Any, dims: list[int]) -> buffered_tensor:
        """Dimensions permuted."""
        tile = self._in_shared(buf, "local_trans")
        if sorted(dims) != list(range(len(tile.shape))):
            raise TLXError(f"dims of local_trans must permute 0 to {len(tile.shape) - 1}, not {dims}")
        return self._view(tile.gluon().permute(dims, _semantic=self), tile.dtype)

    def shared_reshape(self, buf: Any, shape: list[int]) -> buffered_tensor:
        """Another shape over the same elements in the same order."""
        tile = self._in_shared(buf, "local_reshape")
        if math.prod(shape) != math.prod(tile.shape):
            raise TLXError(f"local_reshape: {tile.shape} and {shape} differ in size")
        return self._view(tile.gluon().reshape(shape, _semantic=self), tile.dtype)

    def shared_reinterpret(self, buf: Any, dtype: Any, shape: list[int] | None, asked: Any = None) -> buffered_tensor:
        """Another type over the same bytes."""
        if not isinstance(buf, buffered_tensor):
            raise TLXError(f"local_reinterpret takes a buffer, not {described(buf)}")
        self._whole(buf, "local_reinterpret")
        extents = list(buf.shape) if shape is None else shape
        want = math.prod(extents) * max(buf.num, 1) * dtype.primitive_bitwidth // 8
        if want != self._bytes(buf):
            raise TLXError(f"local_reinterpret: {self._bytes(buf)} bytes are not {dtype}{extents}")
        layout = self._layout(extents, dtype, asked)
        self._packed(layout, "local_reinterpret")
        ty = buffered_tensor_type(dtype, extents, buf.num, layout, [buf.num, *extents] if buf.num else extents)
        raw = self.memdesc_reinterpret(buf.gluon(), dtype, ty.full_shape, layout)
        return buffered_tensor(raw.handle, ty)

    def shared_to_registers(self, buf: Any) -> Any:
        """A load; in a loop, where its time counts, of 16 bytes a thread."""
        tile = self._tile(buf, "local_load")
        often = any(isinstance(node, ast.For | ast.While) for node in self.around)
        wide = loaded_layout(tile.shape, self.warps, tile.layout, tile.dtype.primitive_bitwidth)
        layout = wide if often else default_layout(tile.shape, self.warps)
        return self.shared_load(tile.gluon(), layout)

    def registers_to_shared(self, buf: Any, value: Any) -> None:
        """A store of a block, or of a scalar into every element; the dtype must be the tile's."""
        tile = self._tile(buf, "local_store")
        self.shared_store(tile.gluon(), self._fitting(tile, value))
        if isinstance(tile.layout, NVMMASharedLayout):
            # TMA or wgmma may read this tile through any view, which no pass would see. Every writing thread fences.
            self.memory_fence("async_shared")

    def _fitting(self, tile: buffered_tensor, value: Any) -> Any:
        """A block, or a scalar for every element, as a tile can hold it."""
        value = self.broadcast_impl_shape(self.to_tensor(value), tile.shape)
        if value.dtype != tile.dtype:
            raise TLXError(f"local_store of {value.dtype} into a buffer of {tile.dtype}: convert it with .to()")
        return value

    def memory_fence(self, scope: str) -> None:
        """A proxy fence, or a fence over global memory."""
        self.only_nvidia("fence")
        if scope == "async_shared":
            hopper.fence_async_shared(_semantic=self)
        else:
            self.inline_statement(f"fence.acq_rel.{scope};")
