"""Lowering of bulk copies and prefetches to inline assembly."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ..builtin import TLXError, unwrap
from . import versions
from .descriptors import TensorDescriptor
from .state import current
from .warps import WarpSemantic


class BulkSemantic(WarpSemantic):
    """Copies without a descriptor, and hints to the caches."""

    def _assembly(self, what: str) -> None:
        if not versions.CLUSTERS:
            raise TLXError(versions.too_old(what))

    def _pointer(self, ptr: Any, what: str) -> Any:
        value = self.to_tensor(ptr)
        if value.type.is_block() or not value.type.scalar.is_ptr():
            raise TLXError(f"{what} takes one pointer, not {value.type}")
        return value

    def _amount(self, size: Any, most: int, what: str) -> Any:
        plain = unwrap(size)
        if isinstance(plain, int) and (plain % 16 or not 0 < plain <= most):
            raise TLXError(f"{what} copies a multiple of 16 bytes up to the tile's {most}, not {plain}")
        return self.cast(self.to_tensor(plain if isinstance(plain, int) else size), tl.int32)

    def bulk_load(self, src: Any, dst: Any, size: Any, bar: Any) -> None:
        """cp.async.bulk, global to shared."""
        what = "async_load(bulk=True)"
        self._assembly(what)
        tile = self._tile(dst, what)
        if len(tile.shape) != 1:
            raise TLXError(f"{what} fills a tile of one dimension, whose bytes lie in order, not {tile.shape}")
        signal = self._single(bar, what)
        bytes_ = self._amount(self._bytes(tile) if size is None else size, self._bytes(tile), what)
        self.meet()
        self.by_one_thread(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];",
            "r,l,r,r",
            [tile.handle, self._pointer(src, what).handle, bytes_.handle, signal.handle],
        )

    def bulk_store(self, ptr: Any, src: Any, size: Any) -> None:
        """cp.async.bulk, shared to global, as a bulk group of its own."""
        self._assembly("async_store")
        tile = self._tile(src, "async_store")
        bytes_ = self._amount(size, self._bytes(tile), "async_store")
        self.meet()
        self.by_one_thread(
            "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2; @%tlx_q cp.async.bulk.commit_group;",
            "l,r,r",
            [self._pointer(ptr, "async_store").handle, tile.handle, bytes_.handle],
        )

    def prefetch_lines(self, ptr: Any, level: str, mask: Any) -> None:
        """prefetch.global of each pointer."""
        self.only_nvidia("prefetch")
        target = self.to_tensor(ptr)
        if not target.type.scalar.is_ptr():
            raise TLXError(f"prefetch takes pointers, not {target.type}")
        gate = self.to_tensor(True if mask is None else mask)
        target, gate = self.broadcast_impl_value(target, self.cast(gate, tl.int32))
        ty = target.type.with_element_ty(tl.int32) if target.type.is_block() else tl.int32
        asm = f"{{ .reg .pred p; setp.ne.s32 p, $2, 0; @p prefetch.global.{level} [$1]; mov.u32 $0, 0; }}"
        handles = [target.handle, gate.handle]
        self.builder.create_inline_asm(asm, "=r,l,r", handles, [ty.to_ir(self.builder)], False, 1)

    def parameter_address(self, desc: Any, what: str) -> str:
        """Assembly that puts the address of a descriptor into ``%tlx_d``."""
        self._assembly(what)
        if not isinstance(desc, TensorDescriptor) or desc.type.parameter is None:
            raise TLXError(f"{what} needs a descriptor that the host made and the kernel got as an argument")
        name = f"{current().kernel}_param_{desc.type.parameter}"
        return f"mov.b64 %tlx_d, {name}; cvta.param.u64 %tlx_d, %tlx_d;"

    def prefetch_descriptor(self, desc: Any) -> None:
        """prefetch.tensormap."""
        setup = self.parameter_address(desc, "prefetch(tensormap=True)")
        self.by_one_thread("prefetch.tensormap [%tlx_d];", "", [], setup=setup)

    def prefetch_block(self, desc: Any, offsets: Any, pred: Any) -> None:
        """cp.async.bulk.prefetch.tensor, one for each swizzle atom along the contiguous dimension."""
        setup = self.parameter_address(desc, "async_descriptor_prefetch_tensor")
        places = [value.handle for value in self._coordinates(desc, offsets).values]
        block = [unwrap(extent) for extent in desc.block_shape]
        rank, bits = len(block), desc.dtype.primitive_bitwidth
        width = block[-1] * bits // 8
        atom = min(width, desc.layout.swizzle_byte_width or width)
        for part in range(width // atom):
            inner = f"add.s32 %tlx_b, ${rank - 1}, {part * atom * 8 // bits};"
            order = ", ".join(["%tlx_b", *(f"${axis}" for axis in reversed(range(rank - 1)))])
            self.by_one_thread(
                f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global [%tlx_d, {{{order}}}];",
                ",".join(["r"] * rank),
                places,
                pred,
                f"{setup} {inner}",
            )

    # ---- gather and scatter -----------------------------------------------------------------------------------------

    def gather_local(self, src: Any, indices: Any, axis: int) -> Any:
        """Elements of a tile chosen by a block of indices."""
        tile, picks = self._indexed(src, indices, axis, "local_gather")
        return self.shared_gather(tile.gluon(), picks, axis)

    def scatter_local(self, dst: Any, src: Any, indices: Any, axis: int) -> None:
        """Elements of a block written to chosen places of a tile."""
        tile, picks = self._indexed(dst, indices, axis, "local_scatter")
        values = self.to_tensor(src)
        if values.dtype != tile.dtype:
            raise TLXError(f"local_scatter of {values.dtype} into a buffer of {tile.dtype}: convert it with .to()")
        values, picks = self.broadcast_impl_value(values, picks)
        self.shared_scatter(tile.gluon(), values, picks, axis)

    def _indexed(self, buf: Any, indices: Any, axis: int, what: str) -> tuple[Any, Any]:
        if not versions.GATHER:
            raise TLXError(versions.too_old(what, versions.GATHER_SINCE))
        tile = self._in_shared(buf, what)
        picks = self.to_tensor(indices)
        if not picks.type.is_block() or not picks.dtype.is_int():
            raise TLXError(f"{what} takes a block of integers, not {picks.type}")
        if len(picks.type.shape) != len(tile.shape) or not 0 <= axis < len(tile.shape):
            raise TLXError(f"{what}: indices of shape {picks.type.shape} along axis {axis} do not fit {tile.shape}")
        return tile, picks
