"""Triton's element types and the numpy types that hold their values exactly.

Triton's own interpreter keeps bf16 and fp8 as bit patterns and computes on them; ml_dtypes has real types for both.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton.language as tl

_NUMPY: dict[str, np.dtype] = {
    "int1": np.dtype(bool),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz),
}

#: numpy dtype → Triton's canonical short name, as signatures spell it
_SHORT: dict[np.dtype, str] = {
    dtype: {"int1": "i1"}.get(name, name.replace("uint", "u").replace("int", "i")) for name, dtype in _NUMPY.items()
}

_TRITON: dict[str, Any] = {
    short: {
        "i1": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64,
        "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64,
        "fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64,
        "fp8e5": tl.float8e5, "fp8e5b16": tl.float8e5b16, "fp8e4nv": tl.float8e4nv, "fp8e4b8": tl.float8e4b8,
    }[short]
    for short in _SHORT.values()
}  # fmt: skip

FLOAT64 = np.dtype(np.float64)
ADDRESS = np.dtype(np.uint64)


def numpy_dtype(dtype: Any) -> np.dtype:
    """The numpy type of a Triton element, pointer or block type.

    Raises:
        TypeError: numpy has no such type (fp8e4b15).
    """
    scalar = dtype.scalar
    if scalar.is_ptr():
        return ADDRESS
    try:
        return _NUMPY[scalar.name]
    except KeyError:
        raise TypeError(f"the simulator has no type for {scalar}") from None


def lifted_dtype(dtype: Any) -> np.dtype:
    """Like ``numpy_dtype``, but float64 for every float type."""
    scalar = dtype.scalar
    return FLOAT64 if scalar.is_floating() else numpy_dtype(scalar)


def short_name(dtype: np.dtype) -> str:
    """Triton's canonical name of a numpy type: ``fp16``, ``bf16``, ``i32``.

    Raises:
        TypeError: Triton has no such element type.
    """
    try:
        return _SHORT[np.dtype(dtype)]
    except KeyError:
        raise TypeError(f"Triton has no element type for arrays of {dtype}") from None


def triton_dtype(short: str) -> Any:
    """The Triton type of a canonical name."""
    return _TRITON[short]


def is_fp8(dtype: Any) -> bool:
    """Whether it is one of the 8-bit float types."""
    return bool(dtype.scalar.is_floating() and dtype.scalar.primitive_bitwidth == 8)
