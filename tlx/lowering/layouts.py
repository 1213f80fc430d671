"""Register layouts: the one a block starts with, and which of two wins when they meet."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from triton.experimental.gluon.language._layouts import (
    BlockedLayout,
    DotOperandLayout,
    NVMMADistributedLayout,
    NVMMASharedLayout,
    SliceLayout,
    SwizzledSharedLayout,
)

from ..builtin import TLXError
from .state import threads_per_warp

#: instruction widths of wgmma by operand bits; every dtype but int8 takes each multiple of 8
_INT8_WIDTHS = (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224)


@lru_cache(maxsize=4096)
def _blocked(shape: tuple[int, ...], num_warps: int, threads: int) -> Any:
    """One element per thread, threads dealt along the last dimension first: what Triton's own conversion starts
    from.
    """
    rank = len(shape)
    lanes, warps = [1] * rank, [1] * rank
    free_lanes, free_warps = threads, num_warps
    for dim in reversed(range(1, rank)):
        lanes[dim] = min(free_lanes, shape[dim])
        free_lanes //= lanes[dim]
        warps[dim] = max(1, min(free_warps, shape[dim] // lanes[dim]))
        free_warps //= warps[dim]
    # Whatever is left goes to the slowest dimension, where it may be redundant.
    lanes[0], warps[0] = free_lanes, free_warps
    return BlockedLayout([1] * rank, lanes, warps, list(reversed(range(rank))))


def default_layout(shape: Any, num_warps: int) -> Any:
    """The blocked layout of a new block of ``shape`` held by ``num_warps`` warps."""
    return _blocked(tuple(int(extent) for extent in shape), num_warps, threads_per_warp())


@lru_cache(maxsize=4096)
def _vectorized(shape: tuple[int, int], inner: int, each: int, num_warps: int, threads: int) -> Any:
    """``each`` elements that lie together per thread, threads dealt along ``inner`` first, then along the other
    dimension, and so the warps the other way round.
    """
    outer = 1 - inner
    per_thread, lanes, warps = [1, 1], [1, 1], [1, 1]
    per_thread[inner] = each
    lanes[inner] = min(threads, shape[inner] // each)
    lanes[outer] = threads // lanes[inner]
    warps[outer] = max(1, min(num_warps, shape[outer] // lanes[outer]))
    warps[inner] = num_warps // warps[outer]
    return BlockedLayout(per_thread, lanes, warps, [inner, outer])


def loaded_layout(shape: Any, num_warps: int, layout: Any, bits: int) -> Any:
    """The layout in which a tile is loaded from shared memory: 16 bytes a thread where its rows have them.

    Triton's own choice for a load that is not of global memory, an element a thread, takes eight times the loads, and
    lets a row lie across all threads of a warp: reductions along rows go through shared memory then.
    """
    swizzled = isinstance(layout, NVMMASharedLayout) and len(shape) == 2 and 8 <= bits <= 32
    inner = 0 if swizzled and layout.transposed else 1
    if not swizzled or int(shape[inner]) * bits < 128:
        return default_layout(shape, num_warps)
    rows, columns = (int(extent) for extent in shape)
    return _vectorized((rows, columns), inner, 128 // bits, num_warps, threads_per_warp())


def reduced_layout(layout: Any, shape: Any, axis: int, num_warps: int) -> Any:
    """The layout in which a block that was loaded as ``loaded_layout`` says is combined along ``axis``.

    Across its rows, warps stand side by side, so that each combines columns of its own. Warps below each other would
    hand on what they have through shared memory, and wait for each other, in every trip of a loop.
    """
    loaded = isinstance(layout, BlockedLayout) and len(shape) == 2 and max(layout.size_per_thread) > 1
    if not loaded or axis % 2 != layout.order[1]:
        return layout
    return _side_by_side(tuple(int(extent) for extent in shape), layout.order[0], num_warps, threads_per_warp())


@lru_cache(maxsize=4096)
def _side_by_side(shape: tuple[int, ...], inner: int, num_warps: int, threads: int) -> Any:
    """Warps along ``inner``, each with a band of columns, of which a thread has up to four in a row."""
    outer = 1 - inner
    per_thread, lanes, warps = [1, 1], [1, 1], [1, 1]
    warps[inner] = min(num_warps, shape[inner])
    warps[outer] = num_warps // warps[inner]
    band = shape[inner] // warps[inner]
    per_thread[inner] = min(4, band)
    lanes[inner] = min(threads, band // per_thread[inner])
    lanes[outer] = threads // lanes[inner]
    return BlockedLayout(per_thread, lanes, warps, [inner, outer])


def _weight(layout: Any) -> int:
    """How much a layout is worth keeping: tensor-core layouts most, blocked ones least."""
    if isinstance(layout, (SliceLayout, DotOperandLayout)):
        return _weight(layout.parent)
    if isinstance(layout, BlockedLayout):
        return 0
    return 2 if isinstance(layout, NVMMADistributedLayout) else 1


def preferred(first: Any, second: Any) -> Any:
    """The layout in which two blocks meet. A total order, so that pairwise meetings of many blocks agree."""
    return max(first, second, key=lambda layout: (_weight(layout), layout.mangle()))


def is_plain(layout: Any) -> bool:
    """Whether the layout is a blocked one or a slice of one, which converting costs nothing to lose."""
    return _weight(layout) == 0


def shared_layout(shape: list[int], dtype: Any) -> Any:
    """The shared-memory layout of a tile: swizzled as TMA and wgmma want it, linear where they cannot be involved."""
    bits = dtype.primitive_bitwidth
    if threads_per_warp() != 32:
        # LDS: neither TMA nor wgmma is there to ask for anything else.
        return SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=list(reversed(range(len(shape)))))
    if len(shape) >= 2 and bits in (8, 16, 32) and shape[-1] * bits >= 128:
        return NVMMASharedLayout.get_default_for(shape, dtype)
    if len(shape) == 1 and bits in (8, 16, 32):
        return NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=bits, rank=1)
    return SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=list(reversed(range(len(shape)))))


def wgmma_layout(m: int, n: int, dtype: Any, num_warps: int) -> Any:
    """The accumulator layout of a wgmma over an ``m`` x ``n`` tile by all warps of a task.

    The warps of each group of four stand side by side along M, 16 rows each; groups follow along M while there are rows
    for them and share N afterwards.

    Raises:
        TLXError: the tile is not one that wgmma can compute with this many warps.
    """
    if num_warps % 4:
        raise TLXError(
            f"async_dot needs whole warp groups: this task has {num_warps} warp(s), it must have a multiple of 4"
        )
    if m % 64:
        raise TLXError(f"async_dot needs M to be a multiple of 64, not {m}")
    rows = min(num_warps, m // 16)
    columns = num_warps // rows
    widths = _INT8_WIDTHS if dtype.is_int() else tuple(range(8, 257, 8))
    width = max((w for w in widths if n % w == 0 and w * columns <= n), default=0)
    if not width:
        raise TLXError(f"async_dot cannot split N = {n} into wgmma instructions of {dtype} over {num_warps} warps")
    bits = dtype.primitive_bitwidth
    return NVMMADistributedLayout(version=[3, 0], warps_per_cta=[rows, columns], instr_shape=[16, width, 256 // bits])
