"""The end of Triton's own front end: instead of IR, its semantic layer builds numpy values here.

Triton's interpreter already has such a builder. This one replaces what it gets wrong (bf16 and fp8, on bit patterns;
NaN in min and max), what touches memory (checked addresses instead of raw ones), and what a lifted run needs.
"""

# ruff: noqa: D102 - the methods are Triton's builder interface, and mean what their names say
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime.interpreter import InterpreterBuilder, InterpreterOptions

from . import numerics
from .copy_ops import REDUCTIONS
from .dtypes import FLOAT64, is_fp8, lifted_dtype, numpy_dtype
from .memory import Descriptor, GlobalMemory
from .report import AssumptionError, SimulationError
from .sites import Site, call_chain, here
from .values import Scalar, Value, value


def _comparison(op: Any) -> Any:
    def compare(self: Any, lhs: Value, rhs: Value) -> Value:
        return value(op(lhs.data, rhs.data), tl.int1)

    return compare


class SimBuilder(InterpreterBuilder):  # type: ignore[misc]
    """One per process; ``memory`` and the program id change from CTA to CTA."""

    def __init__(self) -> None:
        super().__init__()
        self.options = InterpreterOptions(sanitize_overflow=False)
        self.codegen_fns["convert_custom_types"] = lambda x, dst_ty, rounding, _semantic: _semantic.tensor(
            self.cast_impl(x.handle, dst_ty), dst_ty
        )
        self.memory: GlobalMemory = None  # type: ignore[assignment]
        #: called at atomics: another task may go first, and a loop around one is not endless unnoticed
        self.step: Callable[[], None] = lambda: None
        #: called at each turn of a `while`
        self.turn: Callable[[], None] = lambda: None
        self.lift = False
        self.tf32 = True
        #: lines whose rounding a lifted run had to keep
        self.unlifted: set[Site] = set()
        #: how often this program has executed each ``tl.dot``, and each TMA load
        self.dots: Counter[tuple[tuple[object, int], ...]] = Counter()
        self.copies: Counter[tuple[tuple[object, int], ...]] = Counter()

    def kind(self, dtype: Any) -> np.dtype:
        """The numpy type that values of a Triton type have in this run."""
        return lifted_dtype(dtype) if self.lift else numpy_dtype(dtype)

    # scalars ---------------------------------------------------------------------------------------------------------

    def create_get_program_id(self, axis: int) -> Value:
        return Scalar(self.grid_idx[axis], tl.int32)

    def create_get_num_programs(self, axis: int) -> Value:
        return Scalar(self.grid_dim[axis], tl.int32)

    def get_int32(self, number: int) -> Value:
        return Scalar(number, tl.int32)

    def get_int64(self, number: int) -> Value:
        return Scalar(number, tl.int64)

    def get_int1(self, number: bool) -> Value:
        return Scalar(bool(number), tl.int1)

    def get_fp16(self, number: float) -> Value:
        return Value(np.array([number], self.kind(tl.float16)), tl.float16)

    def get_bf16(self, number: float) -> Value:
        return Value(np.array([number], self.kind(tl.bfloat16)), tl.bfloat16)

    def get_fp32(self, number: float) -> Value:
        return Value(np.array([number], self.kind(tl.float32)), tl.float32)

    # casts -----------------------------------------------------------------------------------------------------------

    def cast_impl(self, src: Value, dst_type: Any) -> Value:
        target = dst_type.scalar
        source = src.dtype.scalar
        if isinstance(src, Scalar) and target.name in ("int32", "int64") and source.name in ("int1", "int32", "int64"):
            bits = target.primitive_bitwidth
            half = 1 << (bits - 1)
            number = int(src.value)
            return Scalar(number if -half <= number < half else (number + half) % (2 * half) - half, target)
        if self.lift and source.is_floating() and (target.is_int() or is_fp8(target)):
            self.unlifted.add(here())
        data = src.data
        if is_fp8(target) and self.lift:
            return Value(_saturated(data, numpy_dtype(target)).astype(FLOAT64), target)
        if is_fp8(target) and data.dtype.kind != "b":
            return Value(_saturated(data, numpy_dtype(target)), target)
        return value(data.astype(self.kind(target)), target)

    def create_fp_to_fp(self, src: Value, dst_type: Any, rounding_mode: Any) -> Value:
        if rounding_mode == ir.ROUNDING_MODE.RTZ and not self.lift:
            return value(_towards_zero(src.data, self.kind(dst_type)), dst_type.scalar)
        return self.cast_impl(src, dst_type)

    def create_bitcast(self, src: Value, dst_type: Any) -> Value:
        source, target = src.dtype.scalar, dst_type.scalar
        data = src.data
        if self.lift and _holds_floats(source) != _holds_floats(target):
            self.unlifted.add(here())
        if self.lift and source.is_floating():
            data = data.astype(numpy_dtype(source))
        data = np.ascontiguousarray(data).view(numpy_dtype(target))
        return value(data.astype(self.kind(target), copy=False), target)

    create_int_to_ptr = create_bitcast
    create_ptr_to_int = create_bitcast

    # arithmetic ------------------------------------------------------------------------------------------------------

    def binary_op(self, lhs: Value, rhs: Value, op: Any) -> Value:
        output = op(lhs.data, rhs.data)
        kind = self.kind(lhs.dtype)
        return value(output if output.dtype == kind else output.astype(kind), lhs.dtype.scalar)

    def ternary_op(self, lhs: Value, rhs: Value, other: Value, op: Any) -> Value:
        return value(op(lhs.data, rhs.data, other.data), other.dtype.scalar)

    def unary_op(self, arg: Value, op: Any) -> Value:
        return value(op(arg.data), arg.dtype.scalar)

    for _name, _op in {
        "icmpSLE": np.less_equal, "icmpSLT": np.less, "icmpSGE": np.greater_equal, "icmpSGT": np.greater,
        "icmpULE": np.less_equal, "icmpULT": np.less, "icmpUGE": np.greater_equal, "icmpUGT": np.greater,
        "icmpEQ": np.equal, "icmpNE": np.not_equal, "fcmpOLT": np.less, "fcmpOGT": np.greater,
        "fcmpOLE": np.less_equal, "fcmpOGE": np.greater_equal, "fcmpOEQ": np.equal, "fcmpONE": np.not_equal,
        "fcmpULT": np.less, "fcmpUGT": np.greater, "fcmpULE": np.less_equal, "fcmpUGE": np.greater_equal,
        "fcmpUEQ": np.equal, "fcmpUNE": np.not_equal,
    }.items():  # fmt: skip
        locals()[f"create_{_name}"] = _comparison(_op)
    del _name, _op

    def create_minnumf(self, lhs: Value, rhs: Value) -> Value:
        return self.binary_op(lhs, rhs, np.fmin)

    def create_maxnumf(self, lhs: Value, rhs: Value) -> Value:
        return self.binary_op(lhs, rhs, np.fmax)

    def create_clampf(self, arg: Value, lo: Value, hi: Value, propagate_nans: Any) -> Value:
        if propagate_nans == ir.PROPAGATE_NAN.NONE:
            return self.create_minnumf(self.create_maxnumf(arg, lo), hi)
        return self.ternary_op(arg, lo, hi, np.clip)

    def create_idiv(self, lhs: Value, rhs: Value) -> Value:
        return self.binary_op(lhs, rhs, numerics.truncating_divide)

    def create_ashr(self, lhs: Value, rhs: Value) -> Value:
        return self.binary_op(lhs, rhs, np.right_shift)

    def create_fma(self, x: Value, y: Value, z: Value) -> Value:
        kind = self.kind(z.dtype)
        # Rounded once: fp64 holds products of fp32 exactly and their sum nearly so.
        exact = np.multiply(x.data, y.data, dtype=FLOAT64) + z.data.astype(FLOAT64)
        return value(exact.astype(kind), z.dtype.scalar)

    def create_fabs(self, arg: Value) -> Value:
        return self.unary_op(arg, np.abs)

    def create_fneg(self, arg: Value) -> Value:
        return self.unary_op(arg, np.negative)

    def create_erf(self, arg: Value) -> Value:
        return self.unary_op(arg, numerics.erf)

    def create_rsqrt(self, arg: Value) -> Value:
        return self.unary_op(arg, lambda x: np.reciprocal(np.sqrt(x)))

    def create_dot(self, a: Value, b: Value, d: Value, input_precision: Any, max_num_imprecise_acc: Any) -> Value:
        tf32 = self.tf32 and input_precision == ir.INPUT_PRECISION.TF32 and not self.lift
        self.dots[call_chain()] += 1
        return value(numerics.dot(a.data, b.data, d.data, self.kind(d.dtype), tf32), d.dtype.scalar)

    def create_splat(self, ret_ty: Any, arg: Value) -> Value:
        data = np.empty(tuple(ret_ty.shape), arg.data.dtype)
        data.fill(arg.data.ravel()[0])
        return value(data, arg.dtype.scalar)

    # For these numpy's own functions take far longer than what they do to a small tile.

    def create_broadcast(self, arg: Value, shape: Any) -> Value:
        data = np.empty(tuple(shape), arg.data.dtype)
        data[...] = arg.data
        return value(data, arg.dtype.scalar)

    def create_expand_dims(self, arg: Value, axis: int) -> Value:
        shape = arg.data.shape
        return value(arg.data.reshape(*shape[:axis], 1, *shape[axis:]), arg.dtype.scalar)

    def create_unsplat(self, arg: Value) -> Value:
        return value(arg.data.reshape(-1)[:1].copy(), arg.dtype.scalar)

    def create_assume(self, condition: Value) -> None:
        """A launch that contradicts the kernel's own assumption is no launch of it."""
        if not np.all(condition.data):
            raise AssumptionError("what the kernel assumes does not hold", here())

    def create_histogram(self, data: Value, bins: int, mask: Value | None) -> Value:
        numbers: np.ndarray = data.data.astype(np.int64)
        keep = (numbers >= 0) & (numbers < bins)
        if mask is not None:
            keep &= mask.data
        return value(np.bincount(numbers[keep], minlength=bins).astype(np.int32), tl.int32)

    def create_extern_elementwise(
        self, lib: str, path: str, symbol: str, args: list[Value], ret_type: Any, is_pure: bool
    ) -> Value:
        function = numerics.libdevice(symbol)
        if function is None:
            raise SimulationError(f"the simulator does not know the library function {symbol}", here())
        result = function(*(arg.data for arg in args))
        return value(result.astype(self.kind(ret_type)), ret_type.scalar)

    def create_inline_asm(self, *args: Any) -> Value:
        raise SimulationError("inline assembly cannot be simulated", here())

    # memory: what Triton passes of caches, in whatever form, does not matter here

    def create_load(self, ptr: Value, *policy: Any) -> Value:
        dtype = ptr.get_element_ty()
        return value(self.memory.load(ptr.data, None, None, dtype), dtype)

    def create_masked_load(self, ptrs: Value, mask: Value, other: Value | None, *policy: Any, **named: Any) -> Value:
        dtype = ptrs.get_element_ty()
        rest = None if other is None else other.data
        keep = np.broadcast_to(mask.data, ptrs.data.shape)
        return value(self.memory.load(ptrs.data, keep, rest, dtype), dtype)

    def create_store(self, ptr: Value, val: Value, *policy: Any) -> None:
        self.memory.store(ptr.data, val.data, None, ptr.get_element_ty())

    def create_masked_store(self, ptrs: Value, val: Value, mask: Value, *policy: Any) -> None:
        keep = np.broadcast_to(mask.data, ptrs.data.shape)
        self.memory.store(ptrs.data, val.data, keep, ptrs.get_element_ty())

    def create_addptr(self, ptr: Value, offset: Value) -> Value:
        width = max(1, ptr.get_element_ty().primitive_bitwidth // 8)
        return Value(ptr.data + np.uint64(width) * offset.data.astype(np.int64).astype(np.uint64), ptr.dtype)

    def create_atomic_cas(self, ptr: Value, cmp: Value, val: Value, sem: Any, scope: Any) -> Value:
        self.step()
        wanted = np.broadcast_to(cmp.data, ptr.data.shape).ravel()
        new = np.broadcast_to(val.data, ptr.data.shape).ravel()
        old = self.memory.update(
            ptr.data, None, ptr.get_element_ty(), lambda now, i: new[i] if now == wanted[i] else now
        )
        return value(old, cmp.dtype.scalar)

    def create_atomic_rmw(self, op: Any, ptr: Value, val: Value, mask: Value, sem: Any, scope: Any) -> Value:
        self.step()
        new = np.broadcast_to(val.data, ptr.data.shape).ravel()
        keep = np.broadcast_to(mask.data, ptr.data.shape)
        change = _ATOMIC[op]
        old = self.memory.update(ptr.data, keep, ptr.get_element_ty(), lambda now, i: change(now, new[i]))
        return value(old, val.dtype.scalar)

    # descriptors -----------------------------------------------------------------------------------------------------

    def create_make_tensor_descriptor(
        self,
        base: Value,
        shape: list[Value],
        strides: list[Value],
        block: list[int],
        is_signed: bool,
        padding: Any = None,
    ) -> Descriptor:
        dtype = base.get_element_ty()
        desc = Descriptor(
            int(base.data.item()),
            dtype,
            tuple(int(extent.data.item()) for extent in shape),
            tuple(int(stride.data.item()) for stride in strides),
            tuple(int(extent) for extent in block),
            padding == ir.PADDING_OPTION.PAD_NAN,
        )
        width = numpy_dtype(dtype).itemsize
        if desc.pad_nan and width < 2:
            raise SimulationError(f"the TMA moves {dtype} as bytes, which it cannot fill with NaN", here())
        if desc.address % 16:
            raise SimulationError("the base of a tensor descriptor must be aligned to 16 bytes", here())
        if any(stride * width % 16 for stride in desc.strides[:-1]):
            raise SimulationError(
                "all strides of a tensor descriptor but the last must be multiples of 16 bytes", here()
            )
        return desc

    def create_descriptor_load(self, desc: Descriptor, offsets: list[Value], *policy: Any) -> Value:
        box = self.memory.load_box(desc, tuple(int(offset.data.item()) for offset in offsets))
        return value(box, desc.dtype)

    def create_descriptor_store(self, desc: Descriptor, val: Value, offsets: list[Value]) -> None:
        self.memory.store_box(desc, tuple(int(offset.data.item()) for offset in offsets), val.data)

    def create_descriptor_gather(self, *args: Any) -> Value:
        raise SimulationError("descriptor gather is not simulated", here())

    create_descriptor_scatter = create_descriptor_gather

    def create_descriptor_reduce(self, kind: Any, desc: Descriptor, val: Value, offsets: list[Value]) -> None:
        self.step()
        where = tuple(int(offset.data.item()) for offset in offsets)
        self.memory.store_box(desc, where, val.data, REDUCTIONS[kind.name.lower()])


_ATOMIC: dict[Any, Any] = {
    ir.ATOMIC_OP.ADD: np.add,
    ir.ATOMIC_OP.FADD: np.add,
    ir.ATOMIC_OP.MIN: np.minimum,
    ir.ATOMIC_OP.UMIN: np.minimum,
    ir.ATOMIC_OP.MAX: np.maximum,
    ir.ATOMIC_OP.UMAX: np.maximum,
    ir.ATOMIC_OP.AND: np.bitwise_and,
    ir.ATOMIC_OP.OR: np.bitwise_or,
    ir.ATOMIC_OP.XOR: np.bitwise_xor,
    ir.ATOMIC_OP.XCHG: lambda old, new: new,
}


def _holds_floats(dtype: Any) -> bool:
    """Whether values of the type, or what they point to, are floats."""
    return bool((dtype.element_ty if dtype.is_ptr() else dtype).is_floating())


def _saturated(data: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Conversion to fp8 as ``cvt.satfinite`` does it: what lies beyond the largest value becomes it; NaN stays."""
    limit = float(ml_dtypes.finfo(kind).max)
    clipped: np.ndarray = np.clip(data.astype(np.float32), -limit, limit)
    return clipped.astype(kind)


def _towards_zero(data: np.ndarray, kind: np.dtype) -> np.ndarray:
    """A narrowing conversion that rounds towards zero."""
    near = data.astype(kind)
    too_big = np.abs(near.astype(np.float64)) > np.abs(data.astype(np.float64))
    result: np.ndarray = np.where(too_big, np.nextafter(near, kind.type(0)), near)
    return result.astype(kind)
