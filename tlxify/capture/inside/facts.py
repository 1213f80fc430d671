"""What is recorded of a launch: plain data that JSON can hold, and no contents of tensors."""

from __future__ import annotations

import hashlib
import inspect
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: Addresses are described by the largest power of two that divides them, up to this one: neither Triton nor the TMA
#: asks for more.
ALIGNMENT = 16
#: torch's names of element types, and Triton's.
DTYPES: Mapping[str, str] = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "bool": "i1",
    **{f"{sign}int{bits}": f"{short}{bits}" for sign, short in (("", "i"), ("u", "u")) for bits in (8, 16, 32, 64)},
}
Facts = dict[str, Any]


def kernel_facts(function: Any) -> Facts:
    """Which kernel it is: name, module, file, line and a hash of its source text."""
    python = getattr(function, "fn", function)
    text = getattr(function, "src", None)
    if not isinstance(text, str):
        text = inspect.getsource(python)
        text = text[text.index("def ") :]
    code = python.__code__
    return {
        "name": python.__name__,
        "module": str(python.__module__),
        "file": os.path.abspath(code.co_filename),
        "line": code.co_firstlineno,
        "hash": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def is_tensor(value: object) -> bool:
    """Whether a kernel gets an address for this value."""
    return hasattr(value, "data_ptr")


def is_descriptor(value: object) -> bool:
    """Whether it is a host-side tensor descriptor."""
    return hasattr(value, "base") and hasattr(value, "block_shape")


def is_number(value: object) -> bool:
    """Whether it is a number, or a tuple of such: it can be kept, and compares as what it means."""
    return isinstance(value, int | float) or (isinstance(value, tuple) and all(map(is_number, value)))


class Signature:
    """The parameters of a kernel, as far as recording asks."""

    def __init__(self, function: Any) -> None:
        parameters = inspect.signature(getattr(function, "fn", function)).parameters
        self.names = tuple(parameters)
        self.constexprs = frozenset(
            name for name, parameter in parameters.items() if "constexpr" in str(parameter.annotation)
        )
        empty = inspect.Parameter.empty
        self.defaults = {name: item.default for name, item in parameters.items() if item.default is not empty}

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments and options of a call by name."""
        return {**dict(zip(self.names, args, strict=False)), **kwargs}

    def launch_facts(self, named: Mapping[str, Any]) -> Facts:
        """Arguments by parameter, options of the launch, and which tensors lie in each other's memory."""
        given = {**self.defaults, **named}
        arguments = []
        for name in self.names:
            if name in given:
                fact = _argument(name, given[name])
                arguments.append({**fact, "constexpr": True} if name in self.constexprs else fact)
        options = {name: plain(value) for name, value in named.items() if name not in self.names and value is not None}
        tensors = [(name, given[name]) for name in self.names if is_tensor(given.get(name))]
        return {"arguments": arguments, "options": options, "overlaps": _overlaps(tensors)}


def plain(value: Any) -> Any:
    """A value as JSON can hold it; what cannot be told is told as text, under "repr"."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    inner = getattr(value, "value", None)
    if type(value).__name__ == "constexpr":
        return plain(inner)
    if type(value).__name__ == "dtype":  # Triton's and torch's
        return {"dtype": dtype_name(value)}
    if isinstance(value, tuple | list):
        return {"tuple": [plain(item) for item in value]}
    if hasattr(value, "fn") and hasattr(value.fn, "__name__"):
        return {"function": value.fn.__name__}
    return {"repr": repr(value)[:200]}


def dtype_name(dtype: Any) -> str:
    """Triton's short name of an element type."""
    name = str(dtype).rpartition(".")[2]
    return DTYPES.get(name, name)


def _argument(name: str, value: Any) -> Facts:
    if is_descriptor(value):
        block = {"block": [int(extent) for extent in value.block_shape]}
        shape, strides = ([int(n) for n in numbers] for numbers in (value.shape, value.strides))
        return {"name": name, "tensor": {**_tensor(value.base), "shape": shape, "strides": strides, **block}}
    if is_tensor(value):
        return {"name": name, "tensor": _tensor(value)}
    return {"name": name, "value": plain(value)}


def _tensor(value: Any) -> Facts:
    address = int(value.data_ptr())
    strides = value.stride() if callable(getattr(value, "stride", None)) else ()
    return {
        "dtype": dtype_name(value.dtype),
        "shape": [int(extent) for extent in getattr(value, "shape", ())],
        "strides": [int(stride) for stride in strides],
        "alignment": math.gcd(address, ALIGNMENT),
        "device": str(getattr(value, "device", "")),
    }


def _overlaps(tensors: Sequence[tuple[str, Any]]) -> list[list[str]]:
    """Pairs of tensors whose byte ranges meet, in the order of the parameters."""
    ranges = [(name, *_bytes(value)) for name, value in tensors]
    return [
        [name, other]
        for number, (name, first, end) in enumerate(ranges)
        for other, other_first, other_end in ranges[number + 1 :]
        if first < other_end and other_first < end
    ]


def _bytes(value: Any) -> tuple[int, int]:
    first = int(value.data_ptr())
    shape: Iterable[int] = getattr(value, "shape", ())
    strides: Iterable[int] = value.stride() if callable(getattr(value, "stride", None)) else ()
    pairs = list(zip(shape, strides, strict=False))
    if any(extent == 0 for extent, _ in pairs):
        return first, first
    return first, first + (sum((extent - 1) * stride for extent, stride in pairs) + 1) * int(value.element_size())
