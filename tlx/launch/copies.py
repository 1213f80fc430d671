"""The arguments of a launch once more, in memory of their own, so that a second kernel can run beside the first.

What a kernel writes is copied by *storage*, the whole allocation behind a tensor: a kernel is given an address and may
write anywhere around it, and two arguments that share memory must share it in the copy as well. What it only reads is
passed as it is. torch only: nothing else tells what lies behind a pointer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tlx.launch.pointers import is_pointer

__all__ = ["Copies", "Uncopied", "copied"]


class Uncopied(Exception):
    """These arguments cannot be given to a second kernel; the message says why."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Arguments that a second kernel may write to."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    #: Each tensor that may be written, by parameter: the caller's, and its copy.
    written: Mapping[str, tuple[Any, Any]]


def copied(
    args: Sequence[Any], kwargs: Mapping[str, Any], names: Sequence[str], written: Iterable[frozenset[str]], limit: int
) -> Copies:
    """The arguments of a call with what is behind those of `written` copied, on the current stream.

    `names` are the kernel's parameters in order; `limit` is the most that may be copied, in bytes; `written` are the
    targets of the kernel's writes (writes.py). Raises `Uncopied`.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        raise Uncopied("the tensors are not torch's")
    named = {**dict(zip(names, args, strict=False)), **{name: kwargs[name] for name in kwargs if name in names}}
    for name, value in named.items():
        if is_pointer(value) and not isinstance(value, torch.Tensor):
            raise Uncopied(f"{name} is {type(value).__name__}, not a tensor of torch's")
        if not is_pointer(value) and _may_hold_tensors(value):
            raise Uncopied(f"{name} is {type(value).__name__}, which may hold tensors")
    tensors = {name: value for name, value in named.items() if is_pointer(value)}
    if not all(target & tensors.keys() for target in written):
        raise Uncopied("the kernel stores through an address that is none of its arguments")
    stored = {name for target in written for name in target}
    storages = {_storage(tensors[name]): tensors[name] for name in tensors if name in stored}
    size = sum(count for _, count in storages)
    if size > limit:
        raise Uncopied(f"what it writes lies in {size} bytes; copying them is limited to {limit}")
    fresh = {storage: _whole(torch, tensor).clone() for storage, tensor in storages.items()}
    twins = {
        name: _like(torch, tensor, fresh[_storage(tensor)])
        for name, tensor in tensors.items()
        if _storage(tensor) in fresh
    }
    return Copies(
        tuple(twins.get(name, value) for name, value in zip(names, args, strict=False)) + tuple(args[len(names) :]),
        {name: twins.get(name, value) for name, value in kwargs.items()},
        {name: (tensors[name], twin) for name, twin in twins.items() if name in stored},
    )


def _storage(tensor: Any) -> tuple[int, int]:
    """What tells allocations apart: address and size in bytes."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _whole(torch: Any, tensor: Any) -> Any:
    """The allocation behind a tensor, as bytes."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage, 0, (storage.nbytes(),), (1,))


def _like(torch: Any, tensor: Any, memory: Any) -> Any:
    """A tensor that lies in `memory` as `tensor` lies in its own allocation."""
    empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return empty.set_(memory.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def _may_hold_tensors(value: Any) -> bool:
    return not isinstance(value, int | float | str | type(None)) and (
        isinstance(value, list | tuple | dict) or hasattr(value, "base")
    )
