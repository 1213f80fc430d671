"""Everything that differs between the Triton releases we run on. Nothing else asks for a version."""

from __future__ import annotations

import re
from typing import Any

import triton
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton._C.libtriton import ir

#: oldest release with the Gluon builder this package stands on
OLDEST = (3, 6)


def _number(text: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


VERSION = _number(triton.__version__)

#: 3.7 and later renamed Gluon's copies and moved the captures of a warp-specialized region
_CAPTURES_ON_PARTITIONS = VERSION >= (3, 7) and hasattr(tma, "async_load")


class UnsupportedTriton(ImportError):
    """The installed Triton cannot carry tlx."""


def check() -> None:
    """Refuses releases older than 3.6 and builds that lack what we stand on.

    Raises:
        UnsupportedTriton: with the version found.
    """
    if VERSION < OLDEST:
        raise UnsupportedTriton(f"tlx needs Triton 3.6 or newer; this is {triton.__version__}")
    missing = [name for owner, name in ((mbarrier, "expect"), (tma, "store_wait")) if not hasattr(owner, name)]
    if missing:
        raise UnsupportedTriton(f"tlx does not know Triton {triton.__version__}: Gluon lacks {', '.join(missing)}")


#: extension that ASTSource gives to the module we hand over, so that the back end's Gluon stages follow
SOURCE_EXTENSION = "ttgir" if VERSION < (3, 8) else "glir"


def tma_load(desc: Any, offsets: Any, bar: Any, result: Any, pred: Any, semantic: Any) -> None:
    """Gluon's TMA load."""
    copy = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
    copy(desc, offsets, bar, result, pred=pred, _semantic=semantic)


def tma_store(desc: Any, offsets: Any, source: Any, semantic: Any) -> None:
    """Gluon's TMA store."""
    copy = tma.async_store if hasattr(tma, "async_store") else tma.async_copy_shared_to_global
    copy(desc, offsets, source, _semantic=semantic)


def cp_async(
    ptr: Any, dst: Any, mask: Any, other: Any, cache_modifier: str, eviction_policy: str, volatile: bool, semantic: Any
) -> None:
    """A cp.async of pointers, which may have a fill value; Gluon's own wrapper has none."""
    mask_handle = mask.handle if mask is not None else (ir.value() if VERSION < (3, 7) else None)
    other_handle = other.handle if other is not None else (ir.value() if VERSION < (3, 7) else None)
    build = semantic.builder.create_async_copy_global_to_local
    if hasattr(async_copy, "async_load"):
        from triton.experimental.gluon.language._core import _normalize_cache_policy

        policy = _normalize_cache_policy(None, cache_modifier or None, eviction_policy or None)
        build(dst.handle, ptr.handle, mask_handle, other_handle, policy._to_ir(semantic.builder), volatile)
    else:
        cache = semantic._str_to_load_cache_modifier(cache_modifier)
        eviction = semantic._str_to_eviction_policy(eviction_policy)
        build(dst.handle, ptr.handle, mask_handle, other_handle, cache, eviction, volatile)


def warp_specialize(builder: Any, captures: list[Any], warps: list[int]) -> Any:
    """The warp-specialize operation, without its regions."""
    if _CAPTURES_ON_PARTITIONS:
        return builder.create_warp_specialize([], warps)
    return builder.create_warp_specialize([], captures, warps)


def partitions(builder: Any, captures: list[Any], count: int) -> Any:
    """The operation that holds the regions of the non-default tasks."""
    if _CAPTURES_ON_PARTITIONS:
        return builder.create_warp_specialize_partitions(captures, count)
    return builder.create_warp_specialize_partitions(count)
