"""Clusters: who am I, meet the others, write into their memory."""

from __future__ import annotations

from typing import Any

from .register import name


@name
def cluster_cta_rank(_semantic: Any = None) -> Any:
    """Rank of this CTA."""
    return _semantic.cluster_rank()


@name
def cluster_size_1d(_semantic: Any = None) -> Any:
    """CTAs of this cluster."""
    return _semantic.cluster_size()


@name
def cluster_barrier(_semantic: Any = None) -> None:
    """All warps of all CTAs meet."""
    _semantic.cluster_barrier()


@name
def fence_mbarrier_init_cluster(_semantic: Any = None) -> None:
    """Makes new barriers known to the cluster; here they are known once they exist."""


@name
def remote_shmem_store(dst: Any, src: Any, remote_cta_rank: Any, _semantic: Any = None) -> None:
    """A store into another CTA's memory."""
    _semantic.remote_store(dst, src, remote_cta_rank)


@name
def async_remote_shmem_store(dst: Any, src: Any, remote_cta_rank: Any, barrier: Any, _semantic: Any = None) -> None:
    """A store into another CTA's memory that completes bytes on a barrier there."""
    _semantic.remote_store_async(dst, src, remote_cta_rank, barrier)


@name
def async_remote_shmem_copy(dst: Any, src: Any, remote_cta_rank: Any, barrier: Any, _semantic: Any = None) -> None:
    """A bulk copy into another CTA's memory that completes bytes on a barrier there."""
    _semantic.remote_copy_async(dst, src, remote_cta_rank, barrier)
