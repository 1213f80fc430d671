"""Small helpers: types, sizes and special registers."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from .builtin import TLXError, builtin, constant, described, unwrap


@builtin
def dtype_of(v: Any, _semantic: Any = None) -> Any:
    """Element type of a tensor, buffer, descriptor or pointer (for a pointer: of what it points to)."""
    value = unwrap(v)
    ty = getattr(value, "dtype", None)
    if ty is None:
        raise TLXError(f"dtype_of: {described(value)} has no element type")
    ty = ty.scalar if hasattr(ty, "scalar") else ty
    return ty.element_ty if ty.is_ptr() else ty


@builtin
def size_of(dtype: Any, _semantic: Any = None) -> Any:
    """Bytes of one element of ``dtype``, as a ``tl.constexpr``."""
    ty = unwrap(dtype)
    if not isinstance(ty, tl.dtype):
        raise TLXError(f"size_of takes a dtype, not {described(ty)}")
    return tl.constexpr(ty.primitive_bitwidth // 8)


@builtin
def get_fp8_format_name(dtype: Any, _semantic: Any = None) -> Any:
    """Name of an fp8 type as ``async_dot_scaled`` takes it: "e5m2" or "e4m3", a ``tl.constexpr``."""
    ty = unwrap(dtype)
    names = {tl.float8e5: "e5m2", tl.float8e4nv: "e4m3"}
    if ty not in names:
        raise TLXError(f"get_fp8_format_name takes tl.float8e5 or tl.float8e4nv, not {described(ty)}")
    return tl.constexpr(names[ty])


@builtin
def thread_id(axis: int, _semantic: Any = None) -> Any:
    """``threadIdx`` along ``axis`` (0, 1 or 2), an i32 scalar that differs from thread to thread."""
    index = constant(axis, "axis")
    if index not in (0, 1, 2):
        raise TLXError(f"axis must be 0, 1 or 2, not {index}")
    return _semantic.special_register(f"%tid.{'xyz'[index]}", tl.int32)


@builtin
def clock64(_semantic: Any = None) -> Any:
    """The SM's cycle counter, an i64 scalar."""
    return _semantic.special_register("%clock64", tl.int64)
