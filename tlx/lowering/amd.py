"""Lowering of what AMD GPUs have of their own, by Gluon's operations."""

from __future__ import annotations

import math
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language.amd import cdna3, cdna4

from ..builtin import TLXError
from . import versions
from .bulk import BulkSemantic
from .state import current


class AmdSemantic(BulkSemantic):
    """Buffer instructions, copies to LDS, hints."""

    def _amd(self, what: str) -> None:
        if not current().gfx:
            raise TLXError(f"{what} needs an AMD GPU; this kernel is compiled for sm_{current().capability}")

    def _buffer(self, ptr: Any, offsets: Any, what: str) -> tuple[Any, Any]:
        self._amd(what)
        base, places = self.to_tensor(ptr), self.to_tensor(offsets)
        if base.type.is_block() or not base.type.scalar.is_ptr():
            raise TLXError(f"{what} takes one pointer, not {base.type}")
        if not places.type.is_block() or places.dtype not in (tl.int32, tl.uint32):
            raise TLXError(f"{what} takes a block of 32-bit offsets, not {places.type}")
        return base, places

    def buffer_load(self, ptr: Any, offsets: Any, mask: Any, other: Any, cache: str | None) -> Any:
        """amdg.buffer_load."""
        base, places = self._buffer(ptr, offsets, "buffer_load")
        if other is not None and mask is None:
            raise TLXError("other makes sense with a mask only")
        return cdna3.buffer_load(base, places, self._mask(mask, "buffer_load"), other, cache, _semantic=self)

    def buffer_store(self, value: Any, ptr: Any, offsets: Any, mask: Any, cache: str | None) -> None:
        """amdg.buffer_store."""
        base, places = self._buffer(ptr, offsets, "buffer_store")
        block = self.cast(self.to_tensor(value), base.dtype.element_ty)
        block, places = self.broadcast_impl_value(block, places)
        cdna3.buffer_store(block, base, places, self._mask(mask, "buffer_store"), cache, _semantic=self)

    def buffer_atomic_add(self, ptr: Any, offsets: Any, value: Any, mask: Any, sem: Any, scope: Any) -> Any:
        """amdg.buffer_atomic_rmw."""
        base, places = self._buffer(ptr, offsets, "buffer_atomic_add")
        mask = self._mask(mask, "buffer_atomic_add")
        module = cdna4 if current().gfx == "gfx950" else cdna3
        return module.buffer_atomic_add(base, places, value, mask, sem, scope, _semantic=self)

    def buffer_to_local(self, dest: Any, ptr: Any, offsets: Any, mask: Any, other: Any, cache: str) -> None:
        """amdg.buffer_load_to_local."""
        what = "buffer_load_to_local"
        base, places = self._buffer(ptr, offsets, what)
        if current().gfx != "gfx950":
            raise TLXError(f"{what} needs gfx950; this kernel is compiled for {current().gfx}")
        tile = self._tile(dest, what)
        if list(places.type.shape) != tile.shape or base.dtype.element_ty != tile.dtype:
            raise TLXError(
                f"{what} of {base.dtype.element_ty}{places.type.shape} into a tile of {tile.dtype}{tile.shape}"
            )
        mask = self._mask(mask, what)
        wide = 64 * self.warps
        if math.prod(tile.shape) < wide:
            raise TLXError(f"{what}: a tile of {tile.shape} has less than an element for each of {wide} threads")
        places = self.to_layout(places, self._lines(tile))
        if mask is not None and other is None:
            other = 0
        cdna4.async_copy.buffer_load_to_shared(tile.gluon(), base, places, mask, other, cache, _semantic=self)

    def _lines(self, tile: Any) -> Any:
        """Sixteen bytes for each thread, the threads of a wave side by side: LDS is written in one piece."""
        rank = len(tile.shape)
        vector = min(tile.shape[-1], 128 // tile.dtype.primitive_bitwidth)
        free, free_warps = 64, self.warps
        lanes, warps, each = [1] * rank, [1] * rank, [1] * rank
        each[-1] = vector
        for axis in reversed(range(rank)):
            lanes[axis] = max(1, min(free, tile.shape[axis] // each[axis]))
            free //= lanes[axis]
        for axis in reversed(range(rank)):
            warps[axis] = max(1, min(free_warps, tile.shape[axis] // (each[axis] * lanes[axis])))
            free_warps //= warps[axis]
        lanes[0], warps[0] = lanes[0] * free, warps[0] * free_warps
        return ttgl.BlockedLayout(each, lanes, warps, list(reversed(range(rank))))

    def sched_barrier(self, mask: int) -> None:
        """rocdl.sched.barrier."""
        self._amd("amd_sched_barrier")
        if not versions.AMD_HINTS:
            raise TLXError(versions.too_old("amd_sched_barrier"))
        self.builder.create_amd_sched_barrier(mask)

    def slice_of(self, source: Any, shape: list[int], offsets: list[int]) -> Any:
        """amdg.extract_slice."""
        self._amd("extract_slice")
        if not versions.AMD_HINTS:
            raise TLXError(versions.too_old("extract_slice"))
        block = self.to_tensor(source)
        extents = [int(extent) for extent in block.type.shape] if block.type.is_block() else []
        inside = all(start + size <= extent for start, size, extent in zip(offsets, shape, extents, strict=False))
        if not len(shape) == len(offsets) == len(extents) or not inside:
            raise TLXError(f"extract_slice: {shape} from {offsets} is no part of {block.type}")
        layout = block.type.layout
        if isinstance(layout, ttgl.BlockedLayout):
            spans = zip(layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta, strict=True)
            whole = [each * lanes * warps for each, lanes, warps in spans]
            if any(start % span or size % span for start, size, span in zip(offsets, shape, whole, strict=True)):
                raise TLXError(
                    f"extract_slice: no data moves between threads, so {shape} from {offsets} must be multiples of "
                    f"{whole}, the part of {extents} that all threads hold an element of"
                )
        ty = block.type.__class__(block.dtype, shape, layout)
        return self.tensor(self.builder.create_extract_slice(ty.to_ir(self.builder), block.handle, offsets), ty)
