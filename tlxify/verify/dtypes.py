"""Element types by Triton's short names, as numpy holds them.

bf16 and fp8 come from ml_dtypes. Where that is not installed (a GPU machine with only torch), bf16 is kept as bit
patterns: this file is the only one that needs to know.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point format: mantissa bits that are stored, smallest normal number, largest number."""

    mantissa: int
    tiny: float
    largest: float

    @property
    def eps(self) -> float:
        """Distance from 1 to the next number."""
        return float(2.0**-self.mantissa)


FORMATS: Mapping[str, Format] = {
    "fp16": Format(10, 2.0**-14, 65504.0),
    "bf16": Format(7, 2.0**-126, 3.3895313892515355e38),
    "fp32": Format(23, 2.0**-126, 3.4028234663852886e38),
    "fp64": Format(52, 2.0**-1022, 1.7976931348623157e308),
    "fp8e4nv": Format(3, 2.0**-6, 448.0),
    "fp8e5": Format(2, 2.0**-14, 57344.0),
}
_NUMPY = {"fp16": "f2", "fp32": "f4", "fp64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1"}
_ML_DTYPES = {"bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}


def storage(name: str) -> Any:
    """The numpy dtype that holds elements of a type.

    Raises:
        TypeError: an unknown type, or one that needs ml_dtypes where that is missing.
    """
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    if name not in _ML_DTYPES:
        raise TypeError(f"no numpy type for {name}; known: {', '.join((*_NUMPY, *_ML_DTYPES))}")
    try:
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), _ML_DTYPES[name]))
    except ImportError:
        if name == "bf16":
            return np.dtype(np.uint16)
        raise TypeError(f"{name} needs ml_dtypes, which is not installed") from None


def encode(values: Any, name: str) -> Any:
    """Numbers rounded to a type, in its storage."""
    kind = storage(name)
    with np.errstate(all="ignore"):
        if name != "bf16" or kind != np.uint16:
            return values.astype(kind)
        single = values.astype(np.float32)
        bits = single.view(np.uint32)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(single), np.uint16(0x7FC0), rounded)


def decode(array: Any, name: str) -> Any:
    """The elements of an array as float64."""
    if name == "bf16" and array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


def bits(array: Any) -> Any:
    """The array's elements as unsigned integers of their width; a view."""
    return array.view(f"u{array.dtype.itemsize}")
