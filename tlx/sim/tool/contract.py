"""A launch described by text: which kernel, what each argument is, how large the grid is.

    gemm  a=bf16[M,K]@[BLOCK_M//2,BLOCK_K]  c=fp32[M,N]=0   M=128 N=64 K=256 BLOCK_M=64   grid=cdiv(M,BLOCK_M),1

A tensor is ``type[extents]``, row-major, with random contents or those after ``=``; ``@[block]`` makes it a host tensor
descriptor. Numbers are set by name; every parameter of the kernel with such a name gets it. In a file the same is a
list named ``TLX_SIM`` of dictionaries with the keys ``kernel``, ``args``, ``set`` and ``grid``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from triton.tools.tensor_descriptor import TensorDescriptor

from ..run import unwrap_kernel
from ..tensors import tensor
from .expressions import evaluate

#: the list in a file
NAME = "TLX_SIM"

#: element types by the names that people use
TYPES: dict[str, Any] = {
    "fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "bf16": ml_dtypes.bfloat16,
    "fp8e4m3": ml_dtypes.float8_e4m3fn, "fp8e5m2": ml_dtypes.float8_e5m2, "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2, "i1": np.bool_,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip

_TENSOR = re.compile(r"\s*(\w+)\s*\[([^\]]*)\]\s*(?:@\s*\[([^\]]*)\])?\s*(?:=\s*(.+))?\s*")
_KEYS = ("kernel", "args", "set", "grid")


@dataclass(frozen=True, slots=True)
class Contract:
    """One launch, as text."""

    kernel: str
    #: parameter → what it is
    args: Mapping[str, str]
    #: sizes and constexprs; text is an expression over those before it
    set: Mapping[str, Any] = field(default_factory=dict)
    grid: str = "1"


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, ready to run."""

    kernel: Any
    grid: tuple[int, ...]
    kwargs: dict[str, Any]


def in_module(module: Mapping[str, Any]) -> list[Contract]:
    """The contracts that a module declares.

    Raises:
        ValueError: they are not as they should be.
    """
    entries = module.get(NAME, [])
    if not isinstance(entries, (list, tuple)):
        raise ValueError(f"{NAME} is a list of dictionaries")
    contracts = []
    for entry in entries:
        unknown = set(entry) - set(_KEYS) if isinstance(entry, dict) else {repr(entry)}
        if unknown or "kernel" not in entry:
            raise ValueError(f"an entry of {NAME} has the keys {', '.join(_KEYS)}; {', '.join(sorted(unknown))}")
        contracts.append(
            Contract(entry["kernel"], entry.get("args", {}), entry.get("set", {}), str(entry.get("grid", "1")))
        )
    return contracts


def prepare(contract: Contract, module: Mapping[str, Any], seed: int = 0) -> Launch:
    """Makes the arguments of a launch.

    Raises:
        ValueError: the kernel does not exist, a text is not understood, or parameters are left without a value.
    """
    if contract.kernel not in module:
        raise ValueError(f"the file has no {contract.kernel}; it has {', '.join(_kernels(module)) or 'no kernel'}")
    try:
        jit = unwrap_kernel(module[contract.kernel])
    except TypeError as error:
        raise ValueError(str(error)) from None
    names: dict[str, Any] = {}
    for name, value in contract.set.items():
        names[name] = _setting(value, names) if isinstance(value, str) else value
    rng = np.random.default_rng(seed)
    arguments = {name: _argument(name, text, names, rng) for name, text in contract.args.items()}
    parameters = inspect.signature(jit.fn).parameters
    known = {name: value for name, value in names.items() if name in (*parameters, "num_warps", "num_stages")}
    unknown = sorted(set(arguments) - set(parameters))
    if unknown:
        raise ValueError(f"{contract.kernel} has no parameter {unknown[0]}")
    missing = [
        name
        for name, parameter in parameters.items()
        if name not in known and name not in arguments and parameter.default is parameter.empty
    ]
    if missing:
        raise ValueError(f"{contract.kernel} also needs {', '.join(missing)}")
    grid = evaluate(contract.grid, names)
    extents = grid if isinstance(grid, tuple) else (grid,)
    return Launch(jit, tuple(int(extent) for extent in extents), {**known, **arguments})


def _kernels(module: Mapping[str, Any]) -> list[str]:
    return sorted(name for name, value in module.items() if hasattr(value, "fn") and hasattr(value, "run"))


def _setting(text: str, names: Mapping[str, Any]) -> Any:
    """A number; text that is no arithmetic stays text."""
    try:
        return evaluate(text, names)
    except ValueError:
        return text


def _extents(name: str, text: str, names: Mapping[str, Any]) -> tuple[int, ...]:
    values = evaluate(f"({text},)", names) if text.strip() else ()
    if not values or not all(isinstance(value, int) and value > 0 for value in values):
        raise ValueError(f"{name}: the extents [{text}] are not positive integers")
    return tuple(values)


def _argument(name: str, text: str, names: Mapping[str, Any], rng: np.random.Generator) -> Any:
    match = _TENSOR.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return evaluate(text, names) if isinstance(text, str) else text
    kind, shape, block, fill = match.groups()
    if kind not in TYPES:
        raise ValueError(f"{name}: no element type {kind}; known: {', '.join(TYPES)}")
    array = _array(_extents(name, shape, names), np.dtype(TYPES[kind]), rng, padded=block is not None)
    if fill is not None:
        array[...] = evaluate(fill, names)
    if block is None:
        return array
    base = tensor(array)
    extents = _extents(name, block, names)
    if len(extents) != array.ndim:
        raise ValueError(f"{name}: a block of {len(extents)} dimensions for a tensor of {array.ndim}")
    return TensorDescriptor(base, list(base.shape), list(base.stride()), list(extents))


def _array(shape: Sequence[int], dtype: np.dtype, rng: np.random.Generator, padded: bool) -> np.ndarray:
    """Random contents; the rows of a descriptor's tensor start at multiples of 16 bytes."""
    full = list(shape)
    if padded:
        per = max(16 // dtype.itemsize, 1)
        full[-1] = -(-full[-1] // per) * per
    floating = dtype.kind not in "iub"
    values = rng.standard_normal(full) if floating else rng.integers(0, 2 if dtype.kind == "b" else 8, full)
    array: np.ndarray = values.astype(dtype)[tuple(slice(extent) for extent in shape)]
    return array
