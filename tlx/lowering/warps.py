"""Lowering of warp operations to inline assembly."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ..builtin import TLXError
from . import versions
from .scratch import ScratchSemantic

#: name of a reduction → what is done to each value first, and the instruction
_REDUX = {
    "max": ("", "max"),
    "min": ("", "min"),
    "abs_max": ("and.b32 t, t, 0x7FFFFFFF; ", "max"),
    "abs_min": ("and.b32 t, t, 0x7FFFFFFF; ", "min"),
}


class WarpSemantic(ScratchSemantic):
    """Votes, reductions and conversions."""

    def _elementwise(self, asm: str, constraints: str, operands: list[Any], dtype: Any, pack: int = 1) -> Any:
        """Pure assembly on each group of ``pack`` elements."""
        first = operands[0]
        ty = first.type.with_element_ty(dtype) if first.type.is_block() else dtype
        handles = [operand.handle for operand in operands]
        call = self.builder.create_inline_asm(asm, constraints, handles, [ty.to_ir(self.builder)], True, pack)
        return self.tensor(call.get_result(0), ty)

    def ballot(self, mask: int, pred: Any) -> Any:
        """vote.sync.ballot."""
        self.only_nvidia("vote_ballot_sync")
        value = self.to_tensor(pred)
        if value.dtype != tl.int1:
            value = self.not_equal(value, 0)
        if not value.type.is_block():
            flag = self.cast(value, tl.int32)
            asm = f"{{ .reg .pred p; setp.ne.s32 p, $1, 0; vote.sync.ballot.b32 $0, p, {mask:#x}; }}"
            call = self.builder.create_inline_asm(asm, "=r,r", [flag.handle], [tl.int32.to_ir(self.builder)], False, 1)
            return self.tensor(call.get_result(0), tl.int32)
        if not versions.CLUSTERS:
            raise TLXError(versions.too_old("vote_ballot_sync of a block"))
        flags = self.cast(value, tl.int32)
        ir_type = flags.type.to_ir(self.builder)
        count = self.builder.get_total_elems_per_thread(ir_type)
        votes = " ".join(f"or.b32 t, t, ${count + index};" for index in range(count))
        copies = " ".join(f"mov.b32 ${index}, t;" for index in range(count))
        asm = (
            f"{{ .reg .pred p; .reg .b32 t; mov.b32 t, 0; {votes} setp.ne.s32 p, t, 0; "
            f"vote.sync.ballot.b32 t, p, {mask:#x}; {copies} }}"
        )
        constraints = ",".join(["=&r"] * count + ["r"] * count)
        call = self.builder.create_threadwise_inline_asm(asm, constraints, [flags.handle], [ir_type], False)
        return self.tensor(call.get_result(0), flags.type)

    def redux(self, x: Any, op: str) -> Any:
        """redux.sync on fp32."""
        self._needs_blackwell("warp_redux")
        value = self.to_tensor(x)
        if value.dtype != tl.float32:
            raise TLXError(f"warp_redux reduces fp32, not {value.dtype}")
        before, name = _REDUX[op]
        asm = f"{{ .reg .b32 t; mov.b32 t, $1; {before}redux.sync.{name}.f32 t, t, 0xFFFFFFFF; mov.b32 $0, t; }}"
        return self._elementwise(asm, "=f,f", [value], tl.float32)

    def stochastic(self, src: Any, dtype: Any, bits: Any) -> Any:
        """cvt.rs on pairs or quadruples."""
        self._needs_blackwell("stoch_round")
        if src.dtype != tl.float32 or not src.type.is_block():
            raise TLXError(f"stoch_round rounds a block of fp32, not {src.type}")
        if not bits.type.is_block() or list(bits.type.shape) != list(src.type.shape):
            raise TLXError(f"stoch_round: rand_bits must have the shape of src, {src.type.shape}, not {bits.type}")
        if bits.dtype.primitive_bitwidth != 32 or not bits.dtype.is_int():
            raise TLXError(f"stoch_round: rand_bits are integers of 32 bits, not {bits.dtype}")
        src, bits = self.unify(src, bits)
        if dtype.primitive_bitwidth == 8:
            name = "e4m3x4" if dtype == tl.float8e4nv else "e5m2x4"
            asm, pack = f"cvt.rs.satfinite.{name}.f32 $0, {{$4, $3, $2, $1}}, $5;", 4
        else:
            name = "f16x2" if dtype == tl.float16 else "bf16x2"
            asm, pack = f"cvt.rs.{name}.f32 $0, $2, $1, $3;", 2
        constraints = ",".join(["=r", *["f"] * pack, *["r"] * pack])
        return self._elementwise(asm, constraints, [src, bits], dtype, pack)
