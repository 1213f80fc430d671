"""mbarriers and named barriers: how tasks wait for each other."""

from __future__ import annotations

from typing import Any

from .builtin import builtin, constant, unwrap
from .types import mbarrier


@builtin
def alloc_barriers(num_barriers: int, arrive_count: int = 1, _semantic: Any = None) -> mbarrier:
    """``num_barriers`` mbarriers in shared memory, each expecting ``arrive_count`` arrivals per phase.

    They are initialised at this point of the program. A barrier starts in phase 0, so ``barrier_wait(bar, 1)`` passes
    at once and ``barrier_wait(bar, 0)`` waits for the first completion.
    """
    count, arrivals = constant(num_barriers, "num_barriers"), constant(arrive_count, "arrive_count")
    return _semantic.mbarrier_alloc(count, arrivals, False)  # type: ignore[no-any-return]


@builtin
def alloc_warp_barrier(num_barriers: int, num_warps: int = 1, num_arrivals: int = 1, _semantic: Any = None) -> mbarrier:
    """Like ``alloc_barriers``, but every thread of an arriving task counts: 32 x ``num_warps`` x ``num_arrivals`` a
    phase.

    A task must arrive with all its threads, so ``num_warps`` is that of the arriving task and ``num_arrivals`` the
    number of tasks.
    """
    threads = 32 * constant(num_warps, "num_warps") * constant(num_arrivals, "num_arrivals")
    return _semantic.mbarrier_alloc(constant(num_barriers, "num_barriers"), threads, True)  # type: ignore[no-any-return]


@builtin
def barrier_expect_bytes(bar: mbarrier, size: int, pred: Any = None, _semantic: Any = None) -> None:
    """``mbarrier.arrive.expect_tx``: announces ``size`` bytes of asynchronous copies *and* arrives once.

    A barrier with ``arrive_count=1`` therefore takes exactly one call per phase, with the sum of all copies bound to
    it.

    Args:
        bar: one barrier, ``bars[slot]``.
        size: bytes, known at compile time.
        pred: scalar; nothing happens where it is false.
    """
    _semantic.mbarrier_expect(bar, constant(size, "size of barrier_expect_bytes"), pred)


@builtin
def barrier_wait(bar: mbarrier, phase: Any, pred: Any = None, _semantic: Any = None) -> None:
    """Waits until the phase of parity ``phase`` has completed; waiting consumes nothing.

    Args:
        bar: one barrier, ``bars[slot]``.
        phase: 0 or 1, an integer scalar of at least 32 bits or a constant; a boolean is refused.
        pred: scalar; passes at once where it is false.
    """
    _semantic.mbarrier_wait(bar, phase, pred)


@builtin
def barrier_arrive(
    bar: mbarrier, arrive_count: int = 1, remote_cta_rank: Any = None, pred: Any = None, _semantic: Any = None
) -> None:
    """All warps of the task meet, then one thread arrives ``arrive_count`` times.

    The number of arrivals is therefore counted in tasks. At a barrier of ``alloc_warp_barrier`` each thread of the task
    arrives by itself, and the warps do not meet; with ``pred`` or more than one arrival they do.

    Args:
        bar: one barrier, ``bars[slot]``.
        arrive_count: arrivals, at least 1.
        remote_cta_rank: arrive at this barrier of another CTA of the cluster; an i32 scalar.
        pred: scalar; no arrival where it is false.
    """
    count = constant(arrive_count, "arrive_count")
    rank = getattr(bar, "remote_rank", None) if unwrap(remote_cta_rank) is None else remote_cta_rank
    if rank is None:
        _semantic.mbarrier_arrive(bar, count, pred)
    else:
        _semantic.remote_arrive(bar, count, rank, pred)


@builtin
def named_barrier_wait(bar: int, arrive_count: int, _semantic: Any = None, _generator: Any = None) -> None:
    """``bar.sync``: takes part in hardware barrier ``bar`` and blocks until ``arrive_count`` threads have come.

    Args:
        bar: 0 to 15, known at compile time. 0, 1 and 2 + i for partition i belong to the compiler and are refused.
        arrive_count: threads that wait or arrive, all tasks together; a multiple of 32.
    """
    _semantic.named_barrier("sync", constant(bar, "bar"), constant(arrive_count, "arrive_count"), _generator)


@builtin
def named_barrier_arrive(bar: int, arrive_count: int, _semantic: Any = None, _generator: Any = None) -> None:
    """``bar.arrive``: takes part in hardware barrier ``bar`` without blocking. Arguments as for
    ``named_barrier_wait``.
    """
    _semantic.named_barrier("arrive", constant(bar, "bar"), constant(arrive_count, "arrive_count"), _generator)
