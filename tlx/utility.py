"""Small helpers: types, sizes and special registers."""

from __future__ import annotations

import re
from typing import Any

import triton.language as tl
from triton.runtime.driver import driver

from . import modules
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


def is_hip() -> bool:
    """Whether the GPU of this process is AMD's. For the host, as are the next two; kernels cannot call them."""
    return bool(driver.active.get_current_target().backend == "hip")


def is_amd_tdm_target(arch: Any) -> bool:
    """Whether an architecture has AMD's TDM; none of the targets here has."""
    return isinstance(arch, str) and arch.startswith("gfx125")


def cuda_parse_arch(arch: str) -> int:
    """90 for "sm90".

    Raises:
        ValueError: it is spelled otherwise.
    """
    found = re.fullmatch(r"sm(\d+)", arch)
    if found is None:
        raise ValueError(f'an architecture is spelled as in "sm90", not {arch!r}')
    return int(found[1])


def __getattr__(name: str) -> Any:
    return modules.lookup(__name__, name)
