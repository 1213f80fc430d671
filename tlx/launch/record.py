"""A launch written down: enough to make it again elsewhere, and nothing of what its tensors hold but small integers.

    {"format": 1, "kernel": "matmul_kernel", "module": "kernels", "file": "kernels.py", "fingerprint": "d182…",
     "arguments": {"a_ptr": {"shape": [512, 256], "strides": [256, 1], "dtype": "fp16", "storage": 0, "offset": 0,
                             "storage_bytes": 262144, "alignment": 0}, "M": 512, …},
     "grid": [16], "options": {"num_warps": 8}, …}

Strides and offsets are in elements; `storage` numbers allocations, so that arguments that share one are seen to;
`alignment` is the address modulo 16. Integer tensors of up to `SMALL` elements are written out: they steer a kernel.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tlx.launch.pointers import dtype_name, is_descriptor, is_pointer

__all__ = ["FORMAT", "described", "key_of"]

FORMAT = 1
#: Elements of an integer tensor that are written out.
SMALL = 1024
ALIGNMENT = 16


def key_of(args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any) -> tuple[Any, ...]:
    """What tells launches apart for which the same kernel is the faster one: everything but addresses and contents."""
    values = [(str(place), value) for place, value in enumerate(args)] + list(kwargs.items())
    parts = [(name, *_told(value)) for name, value in values]
    return (*parts, "called" if callable(grid) else tuple(grid))


def described(
    names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any, *, contents: bool = True
) -> dict[str, Any]:
    """`arguments`, `grid` and `options` of a launch as JSON; a callable grid is asked with the arguments by name.

    `names` are the kernel's parameters in order. With `contents`, small integer tensors are read: that waits for the
    GPU.
    """
    named = {**dict(zip(names, args, strict=False)), **{name: value for name, value in kwargs.items() if name in names}}
    storages: dict[Any, int] = {}
    arguments = {name: _argument(value, storages, contents) for name, value in named.items()}
    options = {name: _plain(value) for name, value in kwargs.items() if name not in names}
    extents = None
    if not callable(grid):
        extents = [int(extent) for extent in grid]
    else:
        with contextlib.suppress(KeyError, TypeError):  # it may ask for what only a tuner's config tells
            extents = [int(extent) for extent in grid(named)]
    return {"arguments": arguments, "grid": extents, "options": options}


def _argument(value: Any, storages: dict[Any, int], contents: bool) -> Any:
    if is_descriptor(value):
        return {"base": _argument(value.base, storages, contents), **_described(value)}
    if not is_pointer(value):
        return _plain(value)
    told: dict[str, Any] = {"dtype": dtype_name(value.dtype), "alignment": value.data_ptr() % ALIGNMENT}
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        told |= {
            "shape": list(value.shape),
            "strides": list(value.stride()),
            "offset": value.storage_offset(),
            "storage": storages.setdefault((storage.data_ptr(), storage.nbytes()), len(storages)),
            "storage_bytes": storage.nbytes(),
        }
        if contents and told["dtype"][:1] in "iu" and value.numel() <= SMALL:
            told["values"] = value.tolist()
    return told


def _described(descriptor: Any) -> dict[str, Any]:
    """What a descriptor says of its tensor, as JSON has it."""
    lengths = {name: [int(n) for n in getattr(descriptor, name)] for name in ("shape", "strides", "block_shape")}
    return {**lengths, "padding": descriptor.padding}


def _told(value: Any) -> tuple[Any, ...]:
    if is_descriptor(value):
        # Its text would hold what its tensor does.
        return ("descriptor", *_shape(value.base), str(_described(value)))
    return _shape(value) if is_pointer(value) else (type(value).__name__, str(value))


def _shape(tensor: Any) -> tuple[Any, ...]:
    shape = tuple(getattr(tensor, "shape", ()))
    strides = tuple(tensor.stride()) if hasattr(tensor, "stride") else ()
    return str(tensor.dtype), shape, strides, tensor.data_ptr() % ALIGNMENT


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON does not have (dtypes, functions) as its text."""
    try:
        json.dumps(value)
    except TypeError:
        return str(value)
    return value
