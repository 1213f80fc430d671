"""Shared-memory buffers and the views into them. Views move no data."""

from __future__ import annotations

from typing import Any

from .builtin import TLXError, builtin, constant, described, unwrap
from .layouts import shared_layout_encoding
from .types import _SharedValue, buffered_tensor, storage_kind


def _numbers(values: Any, what: str) -> list[int]:
    return [constant(value, what) for value in unwrap(values)]


def _asked(layout: Any, what: str) -> shared_layout_encoding | None:
    """The layout that an argument asks for."""
    asked = unwrap(layout)
    if asked is None or isinstance(asked, shared_layout_encoding):
        return asked
    raise TLXError(f"{what}: layout is a layout of shared memory, not {described(asked)}")


@builtin
def local_alloc(
    shape: Any,
    dtype: Any,
    num: int,
    storage: storage_kind = storage_kind.smem,
    reuse: Any = None,
    layout: Any = None,
    _semantic: Any = None,
) -> buffered_tensor:
    """``num`` tiles of ``shape`` elements of ``dtype`` in shared or tensor memory.

    Args:
        shape: extents of one tile, powers of two; in tensor memory 64 or 128 rows by any number of columns.
        dtype: element type.
        num: number of tiles, a compile-time constant of at least 1.
        storage: ``smem``, or ``tmem`` (Blackwell only), the memory in which its products accumulate.
        reuse: a buffer whose memory this one takes over from its first byte on, which must be large enough, or a
            ``storage_alias_spec`` to join. Ordering the accesses is the author's business.
        layout: of a tile in smem, a ``shared_layout_encoding`` of some kind. By default tiles of two or more dimensions
            get the swizzled one that TMA and wgmma read, ``nv_mma_shared_layout_encoding``.

    Raises:
        TLXError: tensor memory on a GPU without it, a layout that does not fit, or ``reuse`` too small.
    """
    kind = unwrap(storage)
    if kind not in (storage_kind.smem, storage_kind.tmem):
        raise TLXError(f"a buffer is allocated in smem or tmem, not in {kind}")
    asked = _asked(layout, "local_alloc")
    if asked is not None and kind is storage_kind.tmem:
        raise TLXError("local_alloc takes a layout of shared memory only: a tile in tmem has one")
    count = constant(num, "num")
    if count < 1:
        raise TLXError(f"num must be at least 1, not {count}")
    extents = _numbers(shape, "shape of local_alloc")
    pool = unwrap(reuse)
    if kind is storage_kind.smem and not hasattr(pool, "pool"):
        return _semantic.shared_alloc(extents, unwrap(dtype), count, pool, asked)  # type: ignore[no-any-return]
    return _semantic.alloc(extents, unwrap(dtype), count, kind, pool, asked)  # type: ignore[no-any-return]


@builtin
def local_view(local_allocated_buffers: _SharedValue, buffer_idx: Any, _semantic: Any = None) -> Any:
    """Tile ``buffer_idx`` of a buffer or barrier array; the same as indexing it.

    On a view it takes away the leading dimension. A constant index is checked, a run-time one is not.
    """
    return _semantic.shared_view(local_allocated_buffers, buffer_idx)


@builtin
def local_slice(buffer: buffered_tensor, offset: Any, shape: Any, _semantic: Any = None) -> buffered_tensor:
    """The part of a view that starts at ``offset`` and has ``shape``, in elements, one entry per dimension.

    Args:
        buffer: one tile. A tile in tensor memory is sliced along its columns only.
        offset: multiples of ``shape``, constants but for the first: that may be a run-time scalar where whole rows of
            at most 128 bytes are taken. Nothing checks then that it is a multiple and inside.
        shape: constants, powers of two.

    Raises:
        TLXError: a part outside the tile, or a run-time offset of slices that do not lie together.
    """
    start, size = list(unwrap(offset)), _numbers(shape, "shape of local_slice")
    return _semantic.shared_slice(buffer, start, size)  # type: ignore[no-any-return]


@builtin
def subslice(local_allocated_buffer: buffered_tensor, offset: int, size: int, _semantic: Any = None) -> buffered_tensor:
    """Columns ``offset`` to ``offset + size`` of a tile in tensor memory; both constant, in elements."""
    width = constant(size, "size of subslice")
    return _semantic.columns(local_allocated_buffer, offset, width)  # type: ignore[no-any-return]


@builtin
def tmem_copy(src: buffered_tensor, dst: buffered_tensor, _semantic: Any = None) -> None:
    """Starts an asynchronous copy from shared to tensor memory (``tcgen05.cp``), which ``tcgen05_commit`` tracks.

    Args:
        src: source view.
        dst: destination view, of the same number of bytes.
    """
    _semantic.copy_to_tensor_memory(src, dst)


@builtin
def local_trans(input: buffered_tensor, dims: Any = (1, 0), _semantic: Any = None) -> buffered_tensor:
    """The view with its dimensions permuted; no data moves."""
    return _semantic.shared_trans(input, _numbers(dims, "dims of local_trans"))  # type: ignore[no-any-return]


@builtin
def local_reshape(src: buffered_tensor, shape: Any, _semantic: Any = None) -> buffered_tensor:
    """The view under another shape of as many elements."""
    return _semantic.shared_reshape(src, _numbers(shape, "shape of local_reshape"))  # type: ignore[no-any-return]


@builtin
def local_reinterpret(
    src: buffered_tensor, dtype: Any, shape: Any = None, layout: Any = None, _semantic: Any = None
) -> buffered_tensor:
    """The same bytes as tiles of another ``dtype`` and ``shape``, in the layout that those have by default or that is
    asked for, as in ``local_alloc``.
    """
    size = None if unwrap(shape) is None else _numbers(shape, "shape of local_reinterpret")
    asked = _asked(layout, "local_reinterpret")
    return _semantic.shared_reinterpret(src, unwrap(dtype), size, asked)  # type: ignore[no-any-return]


@builtin
def local_gather(src: buffered_tensor, indices: Any, axis: int, token: Any = None, _semantic: Any = None) -> Any:
    """Elements of a view chosen along ``axis``: ``out[i, j] = src[indices[i, j], j]`` for axis 0. Needs Triton 3.7.

    Args:
        src: view in shared memory.
        indices: block of integers of as many dimensions; the result has its shape.
        axis: constant.
        token: accepted for symmetry.
    """
    return _semantic.gather_local(src, indices, constant(axis, "axis"))


@builtin
def local_scatter(
    dst: buffered_tensor, src: Any, indices: Any, axis: int, token: Any = None, _semantic: Any = None
) -> None:
    """Writes a block to places of a view chosen along ``axis``: ``dst[indices[i, j], j] = src[i, j]`` for axis 0. Needs
    Triton 3.7.

    Args:
        dst: view in shared memory.
        src: block of its dtype and the shape of ``indices``.
        indices: block of integers; where two are equal, either value stays.
        axis: constant.
        token: accepted for symmetry.
    """
    _semantic.scatter_local(dst, src, indices, constant(axis, "axis"))


@builtin
def local_load(
    src: buffered_tensor,
    token: Any = None,
    layout: Any = None,
    relaxed: bool = False,
    rematerialize_coordinates: bool = False,
    rematerialize_coordinates_group: Any = None,
    _semantic: Any = None,
) -> Any:
    """Copies a view into registers: a tensor of its shape and dtype.

    Args:
        src: view in shared or tensor memory; a task that reads tensor memory has a multiple of 4 warps.
        token: accepted for symmetry.
        layout: not supported; the compiler chooses it.
        relaxed: a hint for AMD; accepted.
        rematerialize_coordinates: a hint for AMD; accepted.
        rematerialize_coordinates_group: a hint for AMD; accepted.

    Raises:
        TLXError: a register layout was asked for.
    """
    if unwrap(layout) is not None:
        raise TLXError("local_load takes no layout here: the compiler chooses it")
    return _semantic.shared_to_registers(src)


@builtin
def local_store(dst: buffered_tensor, src: Any, _semantic: Any = None) -> None:
    """Copies a tensor into a view of the same shape and dtype.

    TMA and ``async_dot`` may read it after ``tlx.fence("async_shared")``. This back end adds that fence by itself;
    Meta's compiler and the simulator expect it to be written.
    """
    _semantic.registers_to_shared(dst, src)
