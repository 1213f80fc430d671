"""Lowering of tensor memory: where Blackwell's products accumulate."""

from __future__ import annotations

import math
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language._layouts import NVMMASharedLayout
from triton.experimental.gluon.language.nvidia import blackwell

from ..builtin import TLXError, unwrap
from ..types import buffered_tensor, buffered_tensor_type, storage_kind
from . import versions
from .buffers import BufferSemantic
from .pools import Pool
from .state import current

#: bytes of one unit of a pool: a whole swizzle atom, so that any tile may start there
_UNIT = 1024


class TensorMemorySemantic(BufferSemantic):
    """Tiles in tensor memory, and pools in either memory."""

    def _needs_blackwell(self, what: str) -> None:
        if not current().is_blackwell:
            raise TLXError(f"{what} needs Blackwell (sm_100); this kernel is compiled for sm_{current().capability}")

    def alloc(
        self, shape: list[int], dtype: Any, num: int, storage: storage_kind, reuse: Any, asked: Any = None
    ) -> buffered_tensor:
        """A new array of tiles in either memory, a member of a pool, or one that takes over memory of another."""
        if storage is storage_kind.tmem:
            ty = self._tensor_type(shape, dtype, num)
        else:
            ty = self.tile_type(shape, dtype, num, asked)
        pool = getattr(reuse, "pool", None)
        if pool is not None and not isinstance(reuse, buffered_tensor):
            self._packed(ty.layout, "reuse")
            member: buffered_tensor = pool.join(ty)
            return member
        if storage is not storage_kind.tmem:
            return self.shared_alloc(shape, dtype, num, reuse, asked)
        if reuse is None:
            raw = blackwell.allocate_tensor_memory(ty.element_ty, ty.full_shape, ty.layout, _semantic=self)
            fresh = buffered_tensor(raw.handle, ty)
            fresh.owns = True
            return fresh
        if not isinstance(reuse, buffered_tensor) or reuse.storage is not storage_kind.tmem:
            raise TLXError("reuse of a buffer in tmem takes a buffer in tmem, or a storage_alias_spec")
        have, want = reuse.type.slot_bits * max(reuse.num, 1), ty.slot_bits * num
        if want > have:
            raise TLXError(f"reuse: the buffer has {have // 32} columns, {want // 32} are needed")
        return self.retyped(reuse.gluon(), self.widened(ty, have))

    def _tensor_type(self, shape: list[int], dtype: Any, num: int) -> buffered_tensor_type:
        self._needs_blackwell("storage_kind.tmem")
        if len(shape) != 2 or shape[0] not in (64, 128):
            raise TLXError(f"a tile in tmem has 64 or 128 rows and two dimensions, not {shape}")
        if dtype in (tl.uint8, tl.int8):
            return self._scales_type(shape, num)
        layout = versions.tensor_memory_layout(shape[0], shape[1])
        return buffered_tensor_type(dtype, shape, num, layout, [num, *shape], storage_kind.tmem)

    @staticmethod
    def _scales_type(shape: list[int], num: int) -> buffered_tensor_type:
        """Bytes in tensor memory are scale factors. Their layout has no slots, so an array of them is one of columns:
        four bytes of 32 rows make a column.
        """
        columns = shape[0] // 32 * -(-shape[1] // 4)
        layout = versions.tensor_memory_layout(128, columns)
        ty = buffered_tensor_type(tl.float32, [128, columns], num, layout, [num, 128, columns], storage_kind.tmem)
        ty.scales = (shape[0], shape[1])
        return ty

    # ---- pools --------------------------------------------------------------------------------------------------

    def new_pool(self, storage: storage_kind, size: int | None) -> Pool:
        """A pool without members."""
        if storage is storage_kind.tmem:
            self._needs_blackwell("storage_kind.tmem")
        pool = Pool(self, storage, size)
        current().pools.append(pool)
        return pool

    def raw_memory(self, storage: storage_kind, bits: int, members: list[buffered_tensor_type]) -> tuple[Any, int]:
        """Memory of at least so many bits (per lane, in tensor memory) for any kind of tile, and how many it has.

        It is a whole number of slots of each member: some releases retype memory only as a whole.
        """
        like = members[0]
        unit = math.lcm(
            *(member.slot_bits for member in members), 32 * 32 if storage is storage_kind.tmem else 8 * _UNIT
        )
        bits = -(-bits // unit) * unit
        if storage is storage_kind.tmem:
            shape = [bits // (32 * 32), like.shape[0], 32]
            layout = versions.tensor_memory_layout(like.shape[0], 32)
            return blackwell.allocate_tensor_memory(tl.float32, shape, layout, _semantic=self), bits
        layout = NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=8, rank=2)
        return ttgl.allocate_shared_memory(tl.int8, [bits // (8 * _UNIT), 8, 128], layout, _semantic=self), bits

    def retyped(self, raw: Any, ty: buffered_tensor_type) -> buffered_tensor:
        """Other tiles over the same memory."""
        handle = self.builder.create_memdesc_reinterpret(ty.to_ir(self.builder), raw.handle)
        return buffered_tensor(handle, ty)

    # ---- accesses -----------------------------------------------------------------------------------------------

    def _register_layout(self, tile: buffered_tensor, what: str) -> Any:
        if self.warps % 4:
            raise TLXError(
                f"{what} of a tile in tmem: each of four warps reaches 32 lanes, so the task needs a multiple of 4 "
                f"warps, not {self.warps}"
            )
        return versions.tensor_register_layout(tile.gluon(), self.warps)

    def shared_to_registers(self, buf: Any) -> Any:
        """A load from either memory."""
        tile = self._tile(buf, "local_load")
        if tile.storage is not storage_kind.tmem:
            return super().shared_to_registers(tile)
        layout = self._register_layout(tile, "local_load")
        ty = ttgl.distributed_type(tile.dtype, tile.shape, layout)
        return self.tensor(self.builder.create_tmem_load(ty.to_ir(self.builder), tile.handle), ty)

    def registers_to_shared(self, buf: Any, value: Any) -> None:
        """A store into either memory."""
        tile = self._tile(buf, "local_store")
        if tile.storage is not storage_kind.tmem:
            super().registers_to_shared(tile, value)
            return
        block = self._fitting(tile, value)
        block = self.to_layout(block, self._register_layout(tile, "local_store"))
        always = self.to_tensor(True)
        self.builder.create_tmem_store(tile.handle, block.handle, always.handle)

    def shared_slice(self, buf: Any, offset: list[Any], shape: list[int]) -> buffered_tensor:
        """A part of a tile; of tensor memory, a range of columns."""
        tile = self._tile(buf, "local_slice")
        if tile.storage is not storage_kind.tmem:
            return super().shared_slice(tile, offset, shape)
        if len(shape) != 2 or shape[0] != tile.shape[0] or unwrap(offset[0]) != 0:
            raise TLXError("a tile in tmem can only be sliced along its columns (dimension 1)")
        return self.columns(tile, offset[1], shape[1])

    def columns(self, buf: Any, offset: Any, size: int) -> buffered_tensor:
        """Columns of a tile in tensor memory."""
        tile = self._tile(buf, "subslice")
        if tile.storage is not storage_kind.tmem:
            raise TLXError("subslice takes a tile in tmem; use local_slice for shared memory")
        start = unwrap(offset)
        if not isinstance(start, int):
            raise TLXError("the offset of a slice of tensor memory must be a compile-time int")
        if start < 0 or size < 1 or size & (size - 1) or start + size > tile.shape[1]:
            raise TLXError(f"subslice: {size} columns from {start} are no part of {tile.shape[1]}")
        raw = tile.gluon().slice(start, size, _semantic=self)
        ty = buffered_tensor_type(
            tile.dtype, list(raw.shape), 0, raw.layout, list(raw.type.alloc_shape), storage_kind.tmem
        )
        return buffered_tensor(raw.handle, ty)

    def copy_to_tensor_memory(self, src: Any, dst: Any) -> None:
        """tcgen05.cp."""
        self._needs_blackwell("tmem_copy")
        source, target = self._tile(src, "tmem_copy"), self._tile(dst, "tmem_copy")
        if source.storage is storage_kind.tmem or target.storage is not storage_kind.tmem:
            raise TLXError("tmem_copy goes from shared memory to tensor memory")
        blackwell.tcgen05_copy(source.gluon(), target.gluon(), _semantic=self)
