"""Ordinary ``tl`` operations on blocks that carry a register layout from birth.

Every new block starts in the default blocked layout of its shape; where two blocks meet, the more valuable layout wins
and the other is converted. The optimiser (``passes``) removes the conversions afterwards. The layouts may therefore be
naive here, but each operation must leave its operands in *one* layout.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language._layouts import BlockedLayout, DotOperandLayout, SliceLayout
from triton.experimental.gluon.language._semantic import GluonSemantic
from triton.language.semantic import TritonSemantic

from ..builtin import TLXError, unwrap, zeroed
from . import sums
from .layouts import default_layout, is_plain, preferred, reduced_layout
from .state import threads_per_warp


class BlockSemantic(GluonSemantic):  # type: ignore[misc]
    """Gluon's semantics under Triton's signatures: layouts are arguments nowhere."""

    #: warps that run the code being compiled; the code generator sets it for each task
    warps: int
    #: whether what is being generated combines elements of long rows
    long_rows = False
    #: the loops and branches of the function around what is being generated; the code generator says so
    around: Sequence[ast.AST] = ()

    def __init__(self, builder: Any, warps: int) -> None:
        super().__init__(builder)
        self.warps = warps

    # ---- layouts ------------------------------------------------------------------------------------------------

    def block_type(self, scalar: Any, shape: Any) -> Any:
        """The type of a new block."""
        return ttgl.distributed_type(scalar, list(shape), default_layout(shape, self.warps))

    def to_layout(self, value: Any, layout: Any) -> Any:
        """``value`` in ``layout``; scalars and blocks already there come back as they are."""
        if not value.type.is_block() or value.type.layout == layout:
            return value
        return self.convert_layout(value, layout)

    def to_default(self, value: Any) -> Any:
        """``value`` in the default layout of its shape."""
        return self.to_layout(value, default_layout(value.type.shape, self.warps))

    def unify(self, *values: Any) -> list[Any]:
        """The blocks among ``values`` in one layout. They must agree in shape; others pass through."""
        blocks = [v for v in values if v is not None and v.type.is_block()]
        if not blocks:
            return list(values)
        meet = blocks[0].type.layout
        for block in blocks[1:]:
            meet = preferred(meet, block.type.layout)
        return [v if v is None else self.to_layout(v, meet) for v in values]

    # ---- shapes -------------------------------------------------------------------------------------------------

    def arange(self, start: int, end: int, *, ret_ty: Any = None) -> Any:
        """As in Triton."""
        if isinstance(start, int) and isinstance(end, int) and end > start and ret_ty is None:
            ret_ty = self.block_type(tl.int32, [end - start])
        return TritonSemantic.arange(self, start, end, ret_ty=ret_ty)

    def splat(self, value: Any, shape: Any, layout: Any = None) -> Any:
        """As in Triton."""
        if len(shape) == 0:
            return value
        ty = self.block_type(value.dtype, shape)
        return zeroed(self.tensor(self.builder.create_splat(ty.to_ir(self.builder), value.handle), ty), like=value)

    def scalar_constant(self, value: Any, dtype: Any) -> Any:
        """As in Triton, for which -0.0 is 0.0."""
        made = super().scalar_constant(value, dtype)
        return zeroed(made) if value == 0 else made

    def cast(self, input: Any, dst_ty: Any, fp_downcast_rounding: str | None = None) -> Any:
        """As in Triton."""
        return zeroed(super().cast(input, dst_ty, fp_downcast_rounding), like=input)

    def full(self, shape: Any, value: Any, dtype: Any, layout: Any = None) -> Any:
        """As in Triton."""
        return self.splat(self.make_scalar(value, dtype), shape)

    def expand_dims(self, input: Any, axis: int) -> Any:
        """As in Triton. The input becomes a slice of the result's layout."""
        shape = [unwrap(extent) for extent in input.shape]
        if axis < 0:
            axis += len(shape) + 1
        shape.insert(axis, 1)
        if not input.type.is_block():
            return self.splat(input, shape)
        layout = input.type.layout
        if not (isinstance(layout, SliceLayout) and layout.dim == axis):
            layout = SliceLayout(axis, default_layout(shape, self.warps))
            input = self.to_layout(input, layout)
        handle = self.builder.create_expand_dims(input.handle, axis)
        return self.tensor(handle, ttgl.distributed_type(input.type.scalar, shape, layout.parent))

    def broadcast_impl_shape(self, input: Any, shape: Any) -> Any:
        """As in Triton."""
        if not input.type.is_block():
            return self.splat(input, shape)
        return super().broadcast_impl_shape(input, list(shape))

    def broadcast_impl_value(self, lhs: Any, rhs: Any) -> tuple[Any, Any]:
        """As in Triton; both results have one shape and one layout."""
        if not (lhs.type.is_block() and rhs.type.is_block()):
            if lhs.type.is_block():
                rhs = self._like(rhs, lhs)
            elif rhs.type.is_block():
                lhs = self._like(lhs, rhs)
            return lhs, rhs
        while len(lhs.shape) < len(rhs.shape):
            lhs = self.expand_dims(lhs, 0)
        while len(rhs.shape) < len(lhs.shape):
            rhs = self.expand_dims(rhs, 0)
        # Reconcile before broadcasting: it is the small block that gets converted.
        lhs, rhs = self.unify(lhs, rhs)
        shape = self._broadcast_shapes(lhs.type.get_block_shapes(), rhs.type.get_block_shapes())
        return self.broadcast_impl_shape(lhs, shape), self.broadcast_impl_shape(rhs, shape)

    def _like(self, scalar: Any, block: Any) -> Any:
        ty = block.type.with_element_ty(scalar.type.scalar)
        return self.tensor(self.builder.create_splat(ty.to_ir(self.builder), scalar.handle), ty)

    def reshape(self, input: Any, dst_shape: Any, can_reorder: bool) -> Any:
        """As in Triton. Elements are never reordered, which ``can_reorder`` allows but does not ask for."""
        return self._inferred(TritonSemantic.reshape(self, input, dst_shape, False))

    def permute(self, input: Any, dims: Any) -> Any:
        """As in Triton."""
        return self._inferred(TritonSemantic.permute(self, input, dims))

    def join(self, a: Any, b: Any) -> Any:
        """As in Triton."""
        a, b = self.broadcast_impl_value(a, b)
        scalars = not a.type.is_block()
        if scalars:
            a, b = self.splat(a, [1]), self.splat(b, [1])
        handle = self.builder.create_join(a.handle, b.handle)
        joined = self._wrap_handle_infer_layout(handle, a.type.scalar, [*a.type.shape, 2])
        return self.reshape(joined, [2], False) if scalars else joined

    def split(self, a: Any) -> tuple[Any, Any]:
        """As in Triton. The pair must sit in one thread's registers, which most layouts do not give."""
        if len(a.shape) == 1:
            both = self.split(self.expand_dims(a, 0))
            return self.unsplat(both[0]), self.unsplat(both[1])
        first, second = TritonSemantic.split(self, self._pairs_in_registers(a))
        return self._inferred(first), self._inferred(second)

    def _pairs_in_registers(self, value: Any) -> Any:
        shape = [unwrap(extent) for extent in value.type.shape]
        linear = unwrap(self.to_linear_layout(value.type.layout, shape))
        last = len(shape) - 1
        pairs = [basis for basis in linear.reg_bases if basis[last]]
        elsewhere = any(basis[last] for bases in (linear.lane_bases, linear.warp_bases) for basis in bases)
        if pairs and not elsewhere:
            return value
        outer = default_layout(shape[:-1], self.warps)
        layout = ttgl.BlockedLayout(
            [*outer.size_per_thread, 2],
            [*outer.threads_per_warp, 1],
            [*outer.warps_per_cta, 1],
            [last, *outer.order],
        )
        return self.to_layout(value, layout)

    def _inferred(self, value: Any) -> Any:
        """``value`` with the layout that the compiler inferred for it."""
        return self._wrap_handle_infer_layout(value.handle, value.type.scalar, value.type.shape)

    def cat(self, lhs: Any, rhs: Any, can_reorder: bool, layout: Any = None) -> Any:
        """As in Triton, for the reordering form it has."""
        lhs, rhs = self.to_default(lhs), self.to_default(rhs)
        # The result holds both inputs' registers one after the other.
        lanes = threads_per_warp()
        per_thread = 2 * max(1, lhs.type.shape[0] // (lanes * self.warps))
        blocked = ttgl.BlockedLayout([per_thread], [lanes], [self.warps], [0])
        return super().cat(lhs, rhs, can_reorder, blocked)

    # ---- memory -------------------------------------------------------------------------------------------------

    def _together(self, ptr: Any, *others: Any) -> list[Any]:
        """Pointer block and companions in one shape and layout; absent ones stay None."""
        if not ptr.type.is_block():
            return [ptr, *others]
        shape = ptr.type.get_block_shapes()
        widened = [o if o is None else self.broadcast_impl_value(ptr, o)[1] for o in others]
        for other in widened:
            if other is not None and list(other.type.shape) != list(shape):
                raise TLXError(f"a block of shape {other.type.shape} does not fit pointers of shape {shape}")
        return self.unify(ptr, *widened)

    def load(self, ptr: Any, mask: Any, other: Any, *rest: Any) -> Any:
        """As in Triton."""
        self._no_block_pointer(ptr)
        ptr, mask, other = self._together(ptr, mask, other)
        return super().load(ptr, mask, other, *rest)

    def store(self, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
        """As in Triton."""
        self._no_block_pointer(ptr)
        return super().store(ptr, val, mask, *rest)

    def atom_red_typechecking_impl(self, ptr: Any, val: Any, mask: Any, op: str) -> Any:
        """As in Triton."""
        ptr, val, mask = self._together(ptr, val, mask)
        return super().atom_red_typechecking_impl(ptr, val, mask, op)

    def atomic_cas(self, ptr: Any, cmp: Any, val: Any, *rest: Any) -> Any:
        """As in Triton."""
        ptr, cmp, val = self._together(ptr, cmp, val)
        return super().atomic_cas(ptr, cmp, val, *rest)

    def _no_block_pointer(self, ptr: Any) -> None:
        if ptr.type.is_ptr() and ptr.type.element_ty.is_block():
            raise TLXError("block pointers are not supported in tlx kernels: use pointers or a tensor descriptor")

    def make_block_ptr(self, *args: Any, **kwargs: Any) -> Any:
        """Block pointers are declined: newer Tritons do not have them."""
        raise TLXError("tl.make_block_ptr is not supported in tlx kernels: use pointers or a tensor descriptor")

    # ---- several operands ---------------------------------------------------------------------------------------

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """As in Triton."""
        condition, x, y = (self.to_tensor(value) for value in (condition, x, y))
        for _ in range(2):
            condition, x = self.broadcast_impl_value(condition, x) if condition.type.is_block() else (condition, x)
            x, y = self.broadcast_impl_value(x, y)
        condition, x, y = self.unify(condition, x, y)
        return super().where(condition, x, y)

    def clamp(self, x: Any, min: Any, max: Any, propagate_nan: Any) -> Any:
        """As in Triton."""
        return super().clamp(*self.unify(x, self.to_tensor(min), self.to_tensor(max)), propagate_nan)

    def reduction(self, inputs: Sequence[Any], axis: int | None, region_builder_fn: Any) -> tuple[Any, ...]:
        """As in Triton."""
        blocks = self.unify(*inputs)
        if axis is not None:
            shape, warps = blocks[0].type.shape, self.warps
            blocks = [self.to_layout(b, reduced_layout(b.type.layout, shape, axis, warps)) for b in blocks]
        self.long_rows = sums.are_long(blocks, self.warps)
        try:
            return tuple(super().reduction(blocks, axis, region_builder_fn))
        finally:
            self.long_rows = False

    def associative_scan(self, inputs: Sequence[Any], axis: int, region_builder_fn: Any, reverse: bool) -> Any:
        """As in Triton, which scans in blocked layouts alone, not in those of products or of tensor memory."""
        blocks = self.unify(*inputs)
        if not all(isinstance(block.type.layout, BlockedLayout) for block in blocks):
            blocks = [self.to_default(block) for block in blocks]
        return super().associative_scan(blocks, axis, region_builder_fn, reverse)

    def histogram(self, input: Any, num_bins: int, mask: Any, layout: Any = None) -> Any:
        """As in Triton."""
        return super().histogram(input, num_bins, mask, default_layout([num_bins], self.warps))

    def gather(self, src: Any, index: Any, axis: int) -> Any:
        """As in Triton."""
        return super().gather(src, self.to_default(index), axis)

    def dot(
        self, lhs: Any, rhs: Any, acc: Any, input_precision: Any, max_num_imprecise_acc: Any, out_dtype: Any
    ) -> Any:
        """As in Triton: synchronous. The optimiser turns it into tensor-core instructions."""
        shape = [*lhs.type.shape[:-1], rhs.type.shape[-1]]
        if out_dtype is None:
            out_dtype = tl.float32 if acc is None else acc.type.element_ty
        if acc is None:
            acc = self.full(shape, 0, tl.int32 if lhs.dtype.is_int() else out_dtype)
        elif lhs.dtype.is_int():
            out_dtype = acc.type.element_ty
        acc = acc if is_plain(acc.type.layout) else self.to_default(acc)
        parent = acc.type.layout
        lhs = self.to_layout(lhs, DotOperandLayout(0, parent, 0))
        rhs = self.to_layout(rhs, DotOperandLayout(1, parent, 0))
        if lhs.dtype.is_int():
            out_dtype = tl.int32
        result = super().dot(lhs, rhs, acc, input_precision, max_num_imprecise_acc, out_dtype)
        return self.tensor(result.handle, acc.type)

    def dot_scaled(self, *args: Any, **kwargs: Any) -> Any:
        """Declined: Hopper has no scaled products."""
        raise TLXError("tl.dot_scaled is not supported in tlx kernels")
