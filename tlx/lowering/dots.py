"""Lowering of asynchronous products to wgmma."""

from __future__ import annotations

import math
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language._layouts import DotOperandLayout, NVMMASharedLayout
from triton.experimental.gluon.language.nvidia import hopper

from ..builtin import TLXError, described, unwrap
from ..types import buffered_tensor
from .copies import CopySemantic
from .layouts import wgmma_layout

#: operand types of wgmma → accumulator types
_ACCUMULATORS: dict[str, tuple[Any, ...]] = {
    "fp16": (tl.float32, tl.float16),
    "bf16": (tl.float32,),
    "fp32": (tl.float32,),
    "fp8e4nv": (tl.float32, tl.float16),
    "fp8e5": (tl.float32, tl.float16),
    "int8": (tl.int32,),
    "uint8": (tl.int32,),
}

#: parts of an operand whose addresses would fill half of the uniform registers
_MANY_PARTS = 16


class DotSemantic(CopySemantic):
    """Tensor-core products in flight."""

    def _operand(self, value: Any, which: str) -> Any:
        if isinstance(value, buffered_tensor):
            return self._tile(value, "async_dot")
        if isinstance(value, tl.tensor) and value.type.is_block():
            return value
        raise TLXError(f"async_dot: operand {which} must be a tile in shared memory or a block, not {described(value)}")

    def wgmma(self, a: Any, b: Any, acc: Any, precision: str | None, out_dtype: Any, generator: Any) -> Any:
        """One asynchronous product: fence, instructions, commit."""
        self.only_nvidia("async_dot")
        a, b = self._operand(a, "A"), self._operand(b, "B")
        if not isinstance(b, buffered_tensor):
            raise TLXError("async_dot: operand B must be in shared memory")
        m, n, dtype = self._problem(a, b)
        if dtype == tl.float32 and precision not in (None, "tf32"):
            raise TLXError(f'async_dot: wgmma rounds fp32 operands, so input_precision is "tf32", not {precision!r}')
        out = self._accumulator_type(dtype, acc, out_dtype)
        layout = wgmma_layout(m, n, dtype, self.warps)
        depth = layout.instr_shape[2]
        if unwrap(acc) is None:
            # wgmma can ignore what is in the accumulator, so no zeros need to be written.
            start, use_acc = self.full([m, n], 0, out), False
        else:
            start, use_acc = acc, True
            if [unwrap(extent) for extent in acc.shape] != [m, n]:
                raise TLXError(f"async_dot: the accumulator has shape {acc.type.shape}, the product [{m}, {n}]")
        if not isinstance(a, buffered_tensor):
            a = self.to_layout(a, DotOperandLayout(0, layout, 32 // dtype.primitive_bitwidth))
        else:
            a = self._addressed_here(a, [16 * layout.warps_per_cta[0], depth])
        flight = hopper.warpgroup_mma(
            a,
            self._addressed_here(b, [depth, layout.instr_shape[1] * layout.warps_per_cta[1]]),
            self.to_layout(start, layout),
            use_acc=use_acc,
            precision=precision,
            is_async=True,
            _semantic=self,
        )
        # A plain block, as in TLX: a loop may carry a product that is still in flight.
        return self.tensor(flight.handle, flight.type.tensor_type)

    def _addressed_here(self, tile: buffered_tensor, part: list[int]) -> Any:
        """The descriptor of ``tile``, of which each instruction reads a ``part``.

        A warp keeps the address of each part in two of its 63 uniform registers. If the tile stays the same from turn
        to turn of a loop, LLVM computes all of them in front of it, and what they crowd out, such as the ring's own
        address, is reloaded from local memory before the first product of every turn. A slot number that LLVM does
        not know, though the assembler does, keeps many addresses where they are used.
        """
        parts = math.prod(extent // size for extent, size in zip(tile.shape, part, strict=True))
        whole = tile.type.alloc_shape[-2:] == tile.shape and not tile.layout.transposed
        if parts < _MANY_PARTS or not whole:
            return tile.gluon()
        ring = self.memdesc_reinterpret(tile.gluon(), tile.dtype, [1, *tile.shape], tile.layout)
        zero = self.builder.create_inline_asm(
            "mov.b32 $0, 0;", "=r", [], [tl.int32.to_ir(self.builder)], False, 1
        ).get_result(0)
        return self.memdesc_index(ring, self.tensor(zero, tl.int32))

    def _problem(self, a: Any, b: Any) -> tuple[int, int, Any]:
        left, right = [unwrap(extent) for extent in a.shape], [unwrap(extent) for extent in b.shape]
        if len(left) != 2 or len(right) != 2 or left[1] != right[0]:
            raise TLXError(f"async_dot: shapes {left} and {right} do not multiply")
        if a.dtype != b.dtype:
            raise TLXError(f"async_dot: operands are {a.dtype} and {b.dtype}; they must have one type")
        dtype = a.dtype
        if str(dtype) not in _ACCUMULATORS:
            raise TLXError(f"async_dot: wgmma has no {dtype} operands")
        depth = 256 // dtype.primitive_bitwidth
        if left[1] % depth:
            raise TLXError(f"async_dot: K must be a multiple of {depth} for {dtype}, not {left[1]}")
        for name, operand, k_dim in (("A", a, 1), ("B", b, 0)):
            if not isinstance(operand, buffered_tensor):
                continue
            layout = operand.layout
            if not isinstance(layout, NVMMASharedLayout):
                raise TLXError(f"async_dot: operand {name} has a layout that wgmma cannot read")
            contiguous = 0 if layout.transposed else 1
            if dtype.primitive_bitwidth != 16 and contiguous != k_dim:
                raise TLXError(
                    f"async_dot: {dtype} operand {name} must be contiguous along K; only 16-bit types may be transposed"
                )
        return left[0], right[1], dtype

    def _accumulator_type(self, dtype: Any, acc: Any, out_dtype: Any) -> Any:
        allowed = _ACCUMULATORS[str(dtype)]
        if unwrap(acc) is not None:
            out = acc.dtype
        elif dtype.is_int():
            out = tl.int32
        else:
            out = out_dtype
        if out not in allowed:
            raise TLXError(f"async_dot: {dtype} operands accumulate in {' or '.join(map(str, allowed))}, not {out}")
        return out

    def wgmma_wait(self, pendings: int, value: Any) -> Any:
        """wgmma.wait_group, with the accumulator threaded through."""
        if not (isinstance(value, tl.tensor) and value.type.is_block()):
            raise TLXError("async_dot_wait threads the result of an async_dot")
        return hopper.warpgroup_mma_wait(pendings, deps=[value], _semantic=self)
