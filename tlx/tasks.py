"""Roles: which warps run which part of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .builtin import TLXError, builtin, constant, unwrap


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """Arguments of ``async_tasks``."""

    #: the author promises that this is the only region of the kernel
    exclusive: bool = False
    #: the author promises that no CTA ends while another one still writes to it
    no_ending_cluster_sync: bool = False


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Arguments of ``async_task``, checked."""

    #: runs on the warps the kernel was launched with
    is_default: bool
    #: warps of one replica; None for the default task
    num_warps: int | None
    #: registers per thread; None leaves the split to the compiler
    registers: int | None
    #: how many copies of the role there are
    replicate: int


@builtin
def async_tasks(
    *,
    exclusive: bool = False,
    no_ending_cluster_sync: bool = False,
    mbarrier_try_wait_suspend_ns: int | None = None,
    _semantic: Any = None,
) -> RegionSpec:
    """``with tlx.async_tasks():`` opens a region whose tasks run at the same time and which ends when all have ended.

    The body holds ``with tlx.async_task(...)`` blocks only, or constexpr ``if``s around them. Names bound inside a task
    are gone after the region, and names bound before it have their old values again.

    Args:
        exclusive: promises that the kernel has no other region, which is checked.
        no_ending_cluster_sync: leaves out the meeting of all CTAs of a cluster at the region's end; the author promises
            that no CTA ends while another one still writes to it.
        mbarrier_try_wait_suspend_ns: a Blackwell hint, in nanoseconds; accepted and ignored.

    Raises:
        TLXError: an argument this back end does not implement.
    """
    return RegionSpec(bool(unwrap(exclusive)), bool(unwrap(no_ending_cluster_sync)))


@builtin
def async_task(
    *args: Any,
    num_warps: int | None = None,
    num_regs: int | None = None,
    registers: int | None = None,
    replicate: int = 1,
    warp_group_start_id: int | None = None,
    _semantic: Any = None,
) -> TaskSpec:
    """``with tlx.async_task(...):`` is one role inside ``async_tasks``.

    Exactly one task of a region is ``async_task("default")``: it runs on the kernel's own ``num_warps`` warps. Every
    other task brings ``num_warps`` warps of its own, ``replicate`` times; ``async_task_replica_id()`` tells the copies
    apart.

    Args:
        num_warps: a power of two; a task that runs ``async_dot`` needs a multiple of 4.
        num_regs: registers per thread, a multiple of 8 from 24 to 256; all non-default tasks give it, or none does.
        registers: the same under its other name.
        replicate: number of copies.
        warp_group_start_id: not supported; the compiler places the warps.

    Raises:
        TLXError: a value outside these rules.
    """
    names = [unwrap(arg) for arg in args]
    if names not in ([], ["default"]):
        raise TLXError(f'a task is either async_task("default") or async_task(num_warps=...), not {names}')
    if unwrap(warp_group_start_id) is not None:
        raise TLXError("warp_group_start_id is not supported: stock Triton places the warps of a task itself")
    if unwrap(num_regs) is not None and unwrap(registers) is not None:
        raise TLXError("give either num_regs or registers: they are the same thing")
    wanted = unwrap(registers) if unwrap(num_regs) is None else unwrap(num_regs)
    copies = constant(replicate, "replicate")
    if copies < 1:
        raise TLXError(f"replicate must be at least 1, not {copies}")
    if names == ["default"]:
        if unwrap(num_warps) is not None:
            raise TLXError("the default task runs on the kernel's num_warps; it takes no num_warps of its own")
        return TaskSpec(is_default=True, num_warps=None, registers=_checked(wanted), replicate=copies)
    warps = constant(num_warps, "num_warps")
    if warps < 1 or warps & (warps - 1):
        raise TLXError(f"num_warps of a task must be a power of two, not {warps}")
    return TaskSpec(is_default=False, num_warps=warps, registers=_checked(wanted), replicate=copies)


def _checked(registers: Any) -> int | None:
    if registers is None:
        return None
    number: int = constant(registers, "registers")
    if number % 8 or not 24 <= number <= 256:
        raise TLXError(f"registers must be a multiple of 8 from 24 to 256 (setmaxnreg), not {number}")
    return number


@builtin
def async_task_replica_id(_semantic: Any = None, _generator: Any = None) -> Any:
    """Index of the copy being compiled, 0 to ``replicate - 1``, as a ``tl.constexpr``.

    Raises:
        TLXError: called outside a task.
    """
    return _semantic.replica_id(_generator)


@builtin
def get_bufidx_phase(accum_cnt: Any, NUM_BUFFERS: int, _semantic: Any = None) -> tuple[Any, Any]:
    """Slot and phase of the ``accum_cnt``-th use of a ring: ``(cnt % NUM_BUFFERS, (cnt // NUM_BUFFERS) & 1)``.

    The counter runs on through all tiles of a role and is never reset. Both results are integers of its type.
    """
    buffers = constant(NUM_BUFFERS, "NUM_BUFFERS")
    if buffers < 1:
        raise TLXError(f"a ring has at least one buffer, not {buffers}")
    count = _semantic.to_tensor(accum_cnt)
    slot = count.__mod__(buffers, _semantic=_semantic)
    turn = count.__floordiv__(buffers, _semantic=_semantic)
    return slot, turn.__and__(1, _semantic=_semantic)
