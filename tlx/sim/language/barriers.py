"""mbarriers, also of other CTAs, and named barriers."""

from __future__ import annotations

from typing import Any

from ..unwrap import integer
from .register import name


@name
def barrier_arrive(
    bar: Any, arrive_count: int = 1, remote_cta_rank: Any = None, pred: Any = None, _semantic: Any = None
) -> None:
    """``arrive_count`` arrivals on ``bar``, or on the barrier at its place in CTA ``remote_cta_rank``."""
    _semantic.mbarrier_arrive(bar, integer(arrive_count), pred, remote_cta_rank)


@name
def remote_view(local_allocated_buffer: Any, remote_cta_rank: Any, _semantic: Any = None) -> Any:
    """The barrier at the same place in another CTA."""
    return _semantic.remote_view(local_allocated_buffer, remote_cta_rank)


@name
def alloc_barriers(num_barriers: Any, arrive_count: Any = 1, _semantic: Any = None) -> Any:
    """``num_barriers`` barriers of ``arrive_count`` arrivals a phase."""
    return _semantic.mbarrier_alloc(integer(num_barriers), integer(arrive_count), False)


@name
def alloc_warp_barrier(num_barriers: Any, num_warps: Any = 1, num_arrivals: Any = 1, _semantic: Any = None) -> Any:
    """Barriers on which every thread of ``num_warps`` warps arrives, ``num_arrivals`` times a phase."""
    threads = 32 * integer(num_warps) * integer(num_arrivals)
    return _semantic.mbarrier_alloc(integer(num_barriers), threads, True)


@name
def barrier_expect_bytes(bar: Any, size: Any, pred: Any = None, _semantic: Any = None) -> None:
    """Announces ``size`` bytes and arrives once."""
    _semantic.mbarrier_expect(bar, integer(size), pred)


@name
def barrier_wait(bar: Any, phase: Any, pred: Any = None, _semantic: Any = None) -> None:
    """Waits until the phase of parity ``phase`` is over."""
    _semantic.mbarrier_wait(bar, phase, pred)


@name
def named_barrier_wait(bar: Any, arrive_count: Any, _semantic: Any = None) -> None:
    """Takes part in a hardware barrier and waits for ``arrive_count`` threads."""
    _semantic.named_barrier("sync", integer(bar), integer(arrive_count))


@name
def named_barrier_arrive(bar: Any, arrive_count: Any, _semantic: Any = None) -> None:
    """Takes part in a hardware barrier without waiting."""
    _semantic.named_barrier("arrive", integer(bar), integer(arrive_count))
