"""What AMD GPUs have of their own: buffer instructions, copies straight to LDS, and hints to the scheduler.

Kernels that use these, LDS buffers, ``async_load`` groups and Triton's own operations compile for gfx942 and gfx950.
"""

from __future__ import annotations

from typing import Any

from .builtin import TLXError, builtin, constant, unwrap
from .lowering import versions
from .types import async_token, buffered_tensor
from .unsupported import missing

#: ``with tlx.warp_pipeline_stage(label, priority=...)``: one stage of a loop whose warps run a stage apart
warp_pipeline_stage = versions.warp_pipeline_stage() or missing(
    "warp_pipeline_stage", versions.too_old("a warp pipeline", versions.WARP_PIPELINE_SINCE)
)


@builtin
def buffer_load(
    ptr: Any,
    offsets: Any,
    mask: Any = None,
    other: Any = None,
    cache: str | None = None,
    contiguity: int = 1,
    _semantic: Any = None,
) -> Any:
    """Loads a block through a buffer descriptor: one base pointer and 32-bit offsets.

    Args:
        ptr: pointer, the same in all threads.
        offsets: block of i32, in elements.
        mask: elements to load.
        other: value of masked elements.
        cache: cache modifier, as in ``tl.load``.
        contiguity: elements that are known to lie together; accepted, the compiler finds out by itself.
    """
    return _semantic.buffer_load(ptr, offsets, unwrap(mask), unwrap(other), unwrap(cache))


@builtin
def buffer_store(
    stored_value: Any, ptr: Any, offsets: Any, mask: Any = None, cache: str | None = None, _semantic: Any = None
) -> None:
    """Stores a block through a buffer descriptor. Arguments as for ``buffer_load``."""
    _semantic.buffer_store(stored_value, ptr, offsets, unwrap(mask), unwrap(cache))


@builtin
def buffer_atomic_add(
    ptr: Any,
    offsets: Any,
    value: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    contiguity: int = 1,
    _semantic: Any = None,
) -> Any:
    """Adds a block atomically through a buffer descriptor and returns what was there before.

    Args:
        ptr: pointer, the same in all threads.
        offsets: block of i32, in elements.
        value: block to add; fp16, fp32, fp64 or unsigned integers, on gfx950 bf16 as well.
        mask: elements to add.
        sem: memory order, as in ``tl.atomic_add``.
        scope: as in ``tl.atomic_add``.
        contiguity: accepted, as in ``buffer_load``.
    """
    return _semantic.buffer_atomic_add(ptr, offsets, value, unwrap(mask), unwrap(sem), unwrap(scope))


@builtin
def buffer_load_to_local(
    dest: buffered_tensor,
    ptr: Any,
    offsets: Any,
    mask: Any = None,
    other: Any = None,
    cache_modifier: str = "",
    _semantic: Any = None,
) -> async_token:
    """Queues a load through a buffer descriptor straight into LDS, to be waited for as an ``async_load`` (gfx950).

    Args:
        dest: view with the shape of ``offsets``.
        ptr: pointer, the same in all threads.
        offsets: block of i32, in elements; each thread moves 4 or 16 bytes that lie together.
        mask: elements to load.
        other: value of masked elements, by default 0.
        cache_modifier: as in ``tl.load``.
    """
    _semantic.buffer_to_local(dest, ptr, offsets, unwrap(mask), unwrap(other), unwrap(cache_modifier))
    return async_token()


@builtin
def zeros(shape: Any, dtype: Any, layout: Any = None, _semantic: Any = None) -> Any:
    """A block of zeros, as ``tl.zeros``; ``layout`` is not supported, the compiler chooses it."""
    if unwrap(layout) is not None:
        raise TLXError("zeros takes no layout here: the compiler chooses it")
    return _semantic.full([constant(extent, "shape of zeros") for extent in unwrap(shape)], 0, unwrap(dtype))


@builtin
def assume_uniform(value: Any, _semantic: Any = None) -> Any:
    """Promises that a scalar is the same in all threads of a wave. A hint: the value is returned as it is."""
    return value


@builtin
def amd_sched_barrier(mask: int = 0, _semantic: Any = None) -> None:
    """Keeps the compiler's scheduler from moving instructions across this point. Needs Triton 3.9.

    Args:
        mask: kinds of instructions that may cross nevertheless, 12 bits.
    """
    _semantic.sched_barrier(constant(mask, "mask"))


@builtin
def extract_slice(source: Any, shape: Any, offsets: Any, _semantic: Any = None) -> Any:
    """Part of a block, without moving data between threads. Needs Triton 3.9.

    Args:
        source: block.
        shape: constants, one for each dimension.
        offsets: constants; shape and offsets must fit the tiles of the block's layout, or the compilation fails.
    """
    sizes = [constant(extent, "shape of extract_slice") for extent in unwrap(shape)]
    starts = [constant(start, "offsets of extract_slice") for start in unwrap(offsets)]
    return _semantic.slice_of(source, sizes, starts)
