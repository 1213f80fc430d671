"""Buffers in shared and tensor memory, their aliases and views, and ordinary accesses."""

from __future__ import annotations

import enum
from typing import Any

from ..report import SimulationError
from ..sites import here
from ..unwrap import integer, plain
from .register import name

#: storage kinds by the name of the memory they stand for
_SPACES = {"smem": "shared", "tmem": "tensor"}


class ReuseKind(enum.Enum):
    """How the elements of a reuse group lie."""

    shared = "shared"
    distinct = "distinct"


def _space(storage: Any) -> str:
    kind = plain(storage)
    label = "smem" if kind is None else getattr(kind, "name", str(kind))
    if label not in _SPACES:
        raise SimulationError(f"nothing can be allocated in {label}", here())
    return _SPACES[label]


@name
def local_alloc(
    shape: Any, dtype: Any, num: Any, storage: Any = None, reuse: Any = None, layout: Any = None, _semantic: Any = None
) -> Any:
    """``num`` tiles of ``shape`` elements; layouts change where elements lie, not what they are."""
    count = integer(num)
    if count < 1:
        raise SimulationError(f"num must be at least 1, not {count}", here())
    extents = [integer(extent) for extent in plain(shape)]
    return _semantic.shared_alloc(extents, plain(dtype), count, plain(reuse), _space(storage))


@name
def storage_alias_spec(storage: Any = None, buffer_size_bytes: Any = None, _semantic: Any = None) -> Any:
    """One piece of memory for several buffers. ``buffer_size_bytes``: of all lanes, in tensor memory."""
    space = _space(storage)
    size = None if plain(buffer_size_bytes) is None else integer(buffer_size_bytes)
    return _semantic.alias_spec(space, size // 128 if size is not None and space == "tensor" else size)


@name
def local_slice(buffer: Any, offset: Any, shape: Any, _semantic: Any = None) -> Any:
    """A part of a view; offsets may be run-time values."""
    return _semantic.shared_slice(buffer, list(plain(offset)), [integer(extent) for extent in plain(shape)])


@name
def subslice(local_allocated_buffer: Any, offset: Any, size: Any, _semantic: Any = None) -> Any:
    """``size`` columns of a tile in tensor memory, from ``offset`` on."""
    return _semantic.subslice(local_allocated_buffer, offset, size)


@name
def local_reinterpret(src: Any, dtype: Any, shape: Any = None, layout: Any = None, _semantic: Any = None) -> Any:
    """The same bytes as another type and shape."""
    extents = None if plain(shape) is None else [integer(extent) for extent in plain(shape)]
    return _semantic.shared_reinterpret(src, plain(dtype), extents)


@name
def local_load(
    src: Any,
    token: Any = None,
    layout: Any = None,
    relaxed: bool = False,
    rematerialize_coordinates: bool = False,
    rematerialize_coordinates_group: Any = None,
    _semantic: Any = None,
) -> Any:
    """A view as a tensor; the hints place it in registers, which changes no value."""
    return _semantic.shared_to_registers(src)


@name
def local_gather(src: Any, indices: Any, axis: Any, token: Any = None, _semantic: Any = None) -> Any:
    """Elements of a view picked along ``axis``: the shape of ``indices``."""
    return _semantic.shared_gather(src, indices, integer(axis))


@name
def local_scatter(dst: Any, src: Any, indices: Any, axis: Any, token: Any = None, _semantic: Any = None) -> None:
    """Elements of ``src`` put into a view along ``axis``."""
    _semantic.shared_scatter(dst, src, indices, integer(axis))


@name
def tmem_copy(src: Any, dst: Any, _semantic: Any = None) -> None:
    """Shared memory into tensor memory, asynchronously and in order with the task's products."""
    _semantic.tensor_copy(src, dst)


@name
def local_view(local_allocated_buffers: Any, buffer_idx: Any, _semantic: Any = None) -> Any:
    """Slot ``buffer_idx`` of a buffer or barrier array, or the leading dimension of a view."""
    return _semantic.shared_view(local_allocated_buffers, buffer_idx)


@name
def local_trans(input: Any, dims: Any = (1, 0), _semantic: Any = None) -> Any:
    """A view with its dimensions permuted."""
    return _semantic.shared_trans(input, [integer(dim) for dim in plain(dims)])


@name
def local_reshape(src: Any, shape: Any, _semantic: Any = None) -> Any:
    """A view under another shape."""
    return _semantic.shared_reshape(src, [integer(extent) for extent in plain(shape)])


@name
def local_store(dst: Any, src: Any, _semantic: Any = None) -> None:
    """A tensor into a view of its shape and type."""
    _semantic.registers_to_shared(dst, src)
