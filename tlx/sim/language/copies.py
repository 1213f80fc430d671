"""Asynchronous copies, multicast, bulk and reducing ones included. Cache hints change nothing here."""

from __future__ import annotations

from typing import Any

import numpy as np

from tlx.builtin import described, known_zero
from tlx.types import async_token

from ..copy_ops import REDUCTIONS
from ..report import SimulationError
from ..sites import here
from ..unwrap import integer, plain
from .register import name


def _no_bits(value: Any) -> bool:
    """Whether a tensor holds nothing but zeros, as far as this run knows."""
    data = getattr(getattr(value, "handle", None), "data", None)
    return data is not None and not np.ascontiguousarray(data).view(np.uint8).any()


@name
def async_load(
    src: Any,
    result: Any,
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
    """Element-wise ``cp.async``, or with ``bulk`` one copy of ``bulk_size`` bytes that lands on ``barrier``."""
    if plain(bulk):
        if plain(mask) is not None or plain(other) is not None or barrier is None:
            raise SimulationError("a bulk async_load needs a barrier and takes no mask", here())
        _semantic.bulk_load(src, result, plain(bulk_size), barrier)
    elif plain(bulk_size) is not None or barrier is not None:
        raise SimulationError("bulk_size and barrier need bulk=True", here())
    else:
        if plain(other) is not None and not (known_zero(other) or _no_bits(other)):
            raise SimulationError(f"async_load fills masked elements with 0, and other is {described(other)}", here())
        _semantic.copy_to_shared(src, result, plain(mask))
    return async_token()


@name
def async_store(dst_global_ptr: Any, src_smem: Any, size: Any, _semantic: Any = None) -> None:
    """A bulk copy of ``size`` bytes to global memory."""
    _semantic.bulk_store(dst_global_ptr, src_smem, size)


@name
def async_descriptor_load(
    desc: Any,
    result: Any,
    offsets: Any,
    barrier: Any,
    pred: Any = None,
    cache_modifier: str = "",
    eviction_policy: str = "",
    multicast_targets: Any = (),
    two_ctas: bool = False,
    _semantic: Any = None,
) -> None:
    """A TMA load, also into several CTAs, or with the bytes of a pair counted in its even CTA."""
    ranks = list(plain(multicast_targets) or ())
    _semantic.tma_load(desc, result, offsets, barrier, pred, ranks, bool(plain(two_ctas)))


@name
def async_descriptor_store(
    desc: Any, source: Any, offsets: Any, eviction_policy: str = "", store_reduce: str = "", _semantic: Any = None
) -> None:
    """A TMA store, or a reduction into what is there."""
    reduce = plain(store_reduce) or ""
    if reduce not in REDUCTIONS:
        known = ", ".join(filter(None, REDUCTIONS))
        raise SimulationError(f"store_reduce is one of {known}, not {reduce!r}", here())
    _semantic.tma_store(desc, source, offsets, reduce)


@name
def async_descriptor_prefetch_tensor(
    desc: Any, offsets: Any, pred: Any = None, eviction_policy: str = "", _semantic: Any = None
) -> None:
    """A hint to the L2 cache, which is not simulated."""


@name
def prefetch(pointer: Any, level: str = "L2", mask: Any = None, tensormap: bool = False, _semantic: Any = None) -> None:
    """A hint to the caches, which are not simulated."""


@name
def async_load_commit_group(tokens: Any = (), _semantic: Any = None) -> async_token:
    """Closes the group of element-wise copies."""
    _semantic.copy_commit()
    return async_token()


@name
def async_load_wait_group(pendings: Any, tokens: Any = (), _semantic: Any = None) -> async_token:
    """Waits until at most ``pendings`` of the newest groups are under way."""
    _semantic.copy_wait(integer(pendings))
    return async_token()


@name
def async_descriptor_store_wait(pendings: Any, _semantic: Any = None) -> None:
    """Waits until at most ``pendings`` bulk stores still read their source."""
    _semantic.tma_store_wait(integer(pendings))


@name
def fence(scope: Any, _semantic: Any = None) -> None:
    """Orders accesses; "async_shared" makes ordinary stores visible to TMA and the tensor core."""
    where = plain(scope)
    if where not in ("async_shared", "gpu", "sys"):
        raise SimulationError(f'unknown fence scope {where!r}: use "async_shared", "gpu" or "sys"', here())
    _semantic.memory_fence(where)


@name
def fence_async_shared(_semantic: Any = None) -> None:
    """``fence("async_shared")``."""
    _semantic.memory_fence("async_shared")
