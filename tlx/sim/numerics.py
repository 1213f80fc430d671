"""Arithmetic that numpy lacks or does differently from the GPU."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, in the type of ``x``."""
    return _erf(x).astype(x.dtype)  # type: ignore[no-any-return]


def round_to_tf32(x: np.ndarray) -> np.ndarray:
    """fp32 values rounded to tf32 (10 mantissa bits, ties to even), as TMA does on request; infinities and NaN stay."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + (((bits >> 13) & 1) + np.uint32(0xFFF))) & np.uint32(0xFFFFE000)
    special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    result: np.ndarray = np.where(special, bits, rounded)
    return result.view(np.float32)


def truncate_to_tf32(x: np.ndarray) -> np.ndarray:
    """fp32 values as the tensor core reads them: the low 13 bits of the mantissa are dropped; NaN stays NaN.

    Compilers hand fp32 operands of a tf32 product to the hardware as they are. That it truncates is what Triton's
    maintainers found when results differed from a library that rounds first (triton-lang/triton issue 4574); whoever
    wants rounding writes ``cvt.rna.tf32.f32`` or lets TMA round.
    """
    values = np.ascontiguousarray(x, np.float32)
    result: np.ndarray = np.where(np.isnan(values), values.view(np.uint32), values.view(np.uint32) & 0xFFFFE000)
    return result.astype(np.uint32).view(np.float32)


def dot(a: np.ndarray, b: np.ndarray, acc: np.ndarray | None, dtype: np.dtype, tf32: bool) -> np.ndarray:
    """``acc + a @ b`` as the tensor core does it: exact products of the operands, summed in fp32 (or int32, fp64).

    ``dtype`` is the type of the result; an fp16 result is rounded once at the end.
    """
    wide = np.dtype(np.int32) if dtype.kind == "i" else np.promote_types(dtype, np.float32)
    if tf32 and a.dtype == np.float32 and wide == np.float32:
        a, b = truncate_to_tf32(a), truncate_to_tf32(b)
    product = np.matmul(a.astype(wide), b.astype(wide))
    if acc is not None:
        product = product + acc.astype(wide, copy=False)
    return product.astype(dtype, copy=False)  # type: ignore[no-any-return]


def truncating_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division towards zero."""
    return (a - np.fmod(a, b)) // b  # type: ignore[no-any-return]


#: functions of libdevice by the stem of their name (``__nv_tanhf`` → ``tanh``)
LIBDEVICE: dict[str, Callable[..., np.ndarray]] = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atan2": np.arctan2, "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "erf": erf,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "fabs": np.abs, "floor": np.floor,
    "fmod": np.fmod, "fmax": np.fmax, "fmin": np.fmin, "isinf": np.isinf, "isnan": np.isnan, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "max": np.maximum, "min": np.minimum, "nearbyint": np.rint, "pow": np.power, "rint": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "trunc": np.trunc,
}  # fmt: skip


def libdevice(symbol: str) -> Callable[..., np.ndarray] | None:
    """The numpy function for a libdevice symbol, if we know one; a fast one computes the same, less exactly."""
    stem = symbol.removeprefix("__nv_").removeprefix("fast_")
    return LIBDEVICE.get(stem) or LIBDEVICE.get(stem.removesuffix("f"))
