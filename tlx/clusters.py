"""Thread-block clusters: shared memory and barriers of other CTAs. Launch with ``ctas_per_cga=(c, 1, 1)``; needs
Triton 3.9.
"""

from __future__ import annotations

from typing import Any

from .builtin import builtin
from .types import buffered_tensor, mbarrier


@builtin
def cluster_cta_rank(_semantic: Any = None) -> Any:
    """Rank of this CTA in its cluster, an i32 scalar; 0 in a kernel launched without clusters."""
    return _semantic.cluster_rank()


@builtin
def cluster_size_1d(_semantic: Any = None) -> Any:
    """CTAs of a cluster, all axes together, an i32 scalar; 1 in a kernel launched without clusters."""
    return _semantic.to_tensor(_semantic.cluster_size)


@builtin
def cluster_barrier(_semantic: Any = None) -> None:
    """All threads of all CTAs of the cluster meet (``barrier.cluster``); without clusters, those of the CTA.

    A clustered kernel without ``async_tasks`` ends with one where another CTA may still write to this one's shared
    memory or barriers; with them, regions begin and end with such a meeting by themselves.

    Raises:
        TLXError: in a kernel with ``async_tasks``, where no code is run by all threads.
    """
    _semantic.cluster_barrier()


@builtin
def fence_mbarrier_init_cluster(_semantic: Any = None) -> None:
    """Initialised barriers become visible to the other CTAs once those have met. ``alloc_barriers`` does it by itself
    in a clustered kernel.
    """
    _semantic.publish_barriers()


@builtin
def remote_view(local_allocated_buffer: mbarrier, remote_cta_rank: Any, _semantic: Any = None) -> mbarrier:
    """The same barrier in the shared memory of another CTA (``mapa``), to arrive at; waiting for it is refused.

    Args:
        local_allocated_buffer: one barrier, ``bars[slot]``.
        remote_cta_rank: i32 scalar, below the cluster's size.
    """
    return _semantic.remote_barrier(local_allocated_buffer, remote_cta_rank)  # type: ignore[no-any-return]


@builtin
def remote_shmem_store(dst: buffered_tensor, src: Any, remote_cta_rank: Any, _semantic: Any = None) -> None:
    """Writes a block into a view in the shared memory of another CTA, as ``local_store`` does here.

    Args:
        dst: view, named as in this CTA.
        src: tensor of its shape and dtype.
        remote_cta_rank: i32 scalar, below the cluster's size.
    """
    _semantic.remote_store(dst, src, remote_cta_rank)


@builtin
def async_remote_shmem_store(
    dst: buffered_tensor, src: Any, remote_cta_rank: Any, barrier: mbarrier, _semantic: Any = None
) -> None:
    """Like ``remote_shmem_store``, without waiting: the tile's bytes complete on ``barrier`` of the other CTA, which
    has to expect them.
    """
    _semantic.async_remote_store(dst, src, remote_cta_rank, barrier)


@builtin
def async_remote_shmem_copy(
    dst: buffered_tensor, src: buffered_tensor, remote_cta_rank: Any, barrier: mbarrier, _semantic: Any = None
) -> None:
    """Copies a view into the shared memory of another CTA (``cp.async.bulk``); the tile's bytes complete on ``barrier``
    there, which has to expect them.
    """
    _semantic.remote_copy(dst, src, remote_cta_rank, barrier)
