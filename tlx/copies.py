"""Asynchronous copies between global and shared memory, and the fences they need."""

from __future__ import annotations

from typing import Any

from .builtin import TLXError, builtin, constant, pending, unwrap
from .types import async_token, buffered_tensor, mbarrier


def _refuse(value: Any, default: Any, what: str) -> None:
    if unwrap(value) not in (default, None):
        raise TLXError(f"{what} is not supported")


def _eviction(policy: Any) -> str:
    name = constant(policy, "eviction_policy", str)
    if name not in ("", "evict_first", "evict_last", "evict_normal"):
        raise TLXError(f'unknown eviction_policy {name!r}: use "evict_first", "evict_last" or "evict_normal"')
    return str(name)


@builtin
def async_load(
    src: Any,
    result: buffered_tensor,
    mask: Any = None,
    other: Any = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    is_volatile: bool = False,
    bulk: bool = False,
    bulk_size: Any = None,
    barrier: Any = None,
    _semantic: Any = None,
) -> async_token:
    """Queues a ``cp.async`` of a block of pointers into a view of the same shape, or one bulk copy.

    The layout chosen must give each thread at least 4 contiguous bytes, or the compilation is refused.

    Args:
        src: block of pointers; of a bulk copy, one pointer, aligned to 16 bytes.
        result: view with the shape of ``src``; of a bulk copy, any view of one dimension.
        mask: elements to copy; the others are filled with 0.
        other: 0, or nothing: no other value can be filled in by ``cp.async``. On an AMD GPU, value of masked elements.
        cache_modifier: as in ``tl.load``.
        eviction_policy: as in ``tl.load``.
        is_volatile: as in ``tl.load``.
        bulk: one ``cp.async.bulk`` by one thread instead, which completes bytes on ``barrier``; takes no mask and needs
            Triton 3.9.
        bulk_size: bytes of a bulk copy, a multiple of 16, by default those of ``result``; i32 scalar or constant.
        barrier: one barrier, ``bars[slot]``, that expects those bytes.
    """
    if unwrap(bulk):
        if unwrap(mask) is not None or unwrap(other) is not None:
            raise TLXError("a bulk async_load takes no mask and no other")
        _semantic.bulk_load(src, result, unwrap(bulk_size), barrier)
        return async_token()
    if unwrap(bulk_size) is not None or barrier is not None:
        raise TLXError("bulk_size and barrier belong to async_load(bulk=True)")
    _semantic.copy_to_shared(
        src, result, unwrap(mask), unwrap(other), unwrap(cache_modifier), unwrap(eviction_policy), unwrap(is_volatile)
    )
    return async_token()


@builtin
def async_load_commit_group(tokens: Any = (), _semantic: Any = None) -> async_token:
    """Closes the group of all ``async_load``s since the last commit; an empty group counts too."""
    _semantic.copy_commit()
    return async_token()


@builtin
def async_load_wait_group(pendings: int, tokens: Any = (), _semantic: Any = None) -> async_token:
    """Waits until at most ``pendings`` of the newest groups are under way."""
    _semantic.copy_wait(pending(pendings))
    return async_token()


@builtin
def async_descriptor_load(
    desc: Any,
    result: buffered_tensor,
    offsets: Any,
    barrier: mbarrier,
    pred: Any = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    multicast_targets: Any = (),
    two_ctas: bool = False,
    _semantic: Any = None,
) -> None:
    """TMA load of one block into a view. It completes bytes on ``barrier`` but neither expects them nor arrives.

    Args:
        desc: tensor descriptor whose block has the shape of ``result`` (leading extents of 1 may be left out).
        result: destination view.
        offsets: element offsets, one per dimension; parts outside the tensor read as zero and count as bytes.
        barrier: one barrier, ``bars[slot]``.
        pred: scalar; nothing is loaded where it is false.
        cache_modifier: not supported.
        eviction_policy: "evict_first", "evict_last", "evict_normal" or "", a hint to the L2 cache; without effect on
            Triton < 3.9 and with ``multicast_targets``.
        multicast_targets: CTAs of the cluster that receive the tile, each at the same place of its shared memory and on
            the same barrier of its own, so each has to expect the bytes. The descriptor must come from the host.
        two_ctas: not supported: see the error.
    """
    _refuse(cache_modifier, "", "cache_modifier of async_descriptor_load")
    policy = _eviction(eviction_policy)
    if unwrap(two_ctas):
        raise TLXError("two_ctas of async_descriptor_load is not available: see two_ctas of async_dot")
    targets = list(unwrap(multicast_targets) or ())
    if targets:
        _semantic.multicast_load(desc, result, offsets, barrier, pred, targets)
    else:
        _semantic.tma_load(desc, result, offsets, barrier, pred, **({"eviction": policy} if policy else {}))


@builtin
def async_descriptor_store(
    desc: Any,
    source: buffered_tensor,
    offsets: Any,
    eviction_policy: str = "",
    store_reduce: str = "",
    _semantic: Any = None,
) -> None:
    """TMA store of a view, committed as one bulk group; parts outside the tensor are not written.

    What ``local_store`` wrote must be fenced with ``tlx.fence("async_shared")`` first.

    Args:
        desc: tensor descriptor whose block has the shape of ``source``.
        source: view to store; it may be overwritten only after ``async_descriptor_store_wait``.
        offsets: element offsets, one per dimension.
        eviction_policy: as in ``async_descriptor_load``; without effect with ``store_reduce``.
        store_reduce: "add", "min", "max", "and", "or" or "xor": combine with what is there instead of replacing it.
    """
    kind = constant(store_reduce, "store_reduce", str)
    if kind not in ("", "add", "min", "max", "and", "or", "xor"):
        raise TLXError(f'unknown store_reduce {kind!r}: use "add", "min", "max", "and", "or" or "xor"')
    policy = _eviction(eviction_policy)
    more = {name: value for name, value in (("eviction", policy), ("reduce", kind)) if value}
    _semantic.tma_store(desc, source, offsets, **more)


@builtin
def async_descriptor_store_wait(pendings: int, _semantic: Any = None) -> None:
    """Waits until at most ``pendings`` stores of this task still read their source; it says nothing about
    visibility.
    """
    _semantic.tma_store_wait(pending(pendings))


@builtin
def async_descriptor_prefetch_tensor(
    desc: Any, offsets: Any, pred: Any = None, eviction_policy: str = "", _semantic: Any = None
) -> None:
    """Brings one block into the L2 cache, without waiting (``cp.async.bulk.prefetch.tensor``). Needs Triton 3.9.

    Args:
        desc: tensor descriptor made by the host.
        offsets: element offsets, one per dimension.
        pred: scalar; nothing happens where it is false.
        eviction_policy: accepted; the instruction is given none.
    """
    _eviction(eviction_policy)
    _semantic.prefetch_block(desc, offsets, pred)


@builtin
def prefetch(pointer: Any, level: str = "L2", mask: Any = None, tensormap: bool = False, _semantic: Any = None) -> None:
    """Brings lines of global memory into a cache, without waiting (``prefetch.global``).

    Args:
        pointer: pointer or block of pointers; with ``tensormap`` a descriptor made by the host.
        level: "L1" or "L2".
        mask: elements to prefetch.
        tensormap: fetch the descriptor itself (``prefetch.tensormap``). Needs Triton 3.9.
    """
    where = constant(level, "level", str)
    if where not in ("L1", "L2"):
        raise TLXError(f'unknown cache level {where!r}: use "L1" or "L2"')
    if unwrap(tensormap):
        _semantic.prefetch_descriptor(pointer)
    else:
        _semantic.prefetch_lines(pointer, where, unwrap(mask))


@builtin
def async_store(dst_global_ptr: Any, src_smem: buffered_tensor, size: Any, _semantic: Any = None) -> None:
    """Starts a bulk copy from shared to global memory (``cp.async.bulk``) and commits it as one bulk group, as
    ``async_descriptor_store`` does. Needs Triton 3.9.

    Args:
        dst_global_ptr: pointer, aligned to 16 bytes.
        src_smem: view; what ``local_store`` wrote there must be fenced first.
        size: bytes, a multiple of 16; i32 scalar or constant.
    """
    _semantic.bulk_store(dst_global_ptr, src_smem, size)


@builtin
def fence(scope: str, _semantic: Any = None) -> None:
    """Orders memory accesses.

    Args:
        scope: ``"async_shared"`` makes earlier ordinary shared-memory writes visible to TMA and wgmma; ``"gpu"`` and
            ``"sys"`` are acquire-release fences over global memory.
    """
    name = constant(scope, "scope", str)
    if name not in ("async_shared", "gpu", "sys"):
        raise TLXError(f'unknown fence scope {name!r}: use "async_shared", "gpu" or "sys"')
    _semantic.memory_fence(name)


@builtin
def fence_async_shared(_semantic: Any = None) -> None:
    """Older name of ``fence("async_shared")``."""
    _semantic.memory_fence("async_shared")
