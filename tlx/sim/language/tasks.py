"""Regions and tasks with the arguments that only some targets take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..report import SimulationError
from ..sites import here
from ..unwrap import integer, plain
from .register import name


@dataclass(frozen=True, slots=True)
class Region:
    """Arguments of ``async_tasks``."""

    exclusive: bool
    #: CTAs of a cluster do not wait for each other where the region ends
    no_ending_cluster_sync: bool


@dataclass(frozen=True, slots=True)
class Task:
    """Arguments of ``async_task``, checked."""

    is_default: bool
    num_warps: int | None
    registers: int | None
    replicate: int
    #: first warp of the task; None where the compiler places it
    first_warp: int | None


@name
def async_tasks(
    *,
    exclusive: bool = False,
    no_ending_cluster_sync: bool = False,
    mbarrier_try_wait_suspend_ns: int | None = None,
    _semantic: Any = None,
) -> Region:
    """A region; how long a waiting thread sleeps changes no order."""
    return Region(bool(plain(exclusive)), bool(plain(no_ending_cluster_sync)))


@name
def async_task(
    *args: Any,
    num_warps: int | None = None,
    num_regs: int | None = None,
    registers: int | None = None,
    replicate: int = 1,
    warp_group_start_id: int | None = None,
    _semantic: Any = None,
) -> Task:
    """One role."""
    given = [plain(arg) for arg in args]
    if given not in ([], ["default"]):
        raise SimulationError(f'a task is async_task("default") or async_task(num_warps=...), not {given}', here())
    warps, copies = plain(num_warps), integer(replicate)
    wanted = plain(registers) if plain(num_regs) is None else plain(num_regs)
    if copies < 1:
        raise SimulationError(f"replicate must be at least 1, not {copies}", here())
    if given and warps is not None:
        raise SimulationError("the default task runs on the kernel's num_warps", here())
    if not given and (not isinstance(warps, int) or warps < 1 or warps & (warps - 1)):
        raise SimulationError(f"num_warps of a task must be a power of two, not {warps}", here())
    if wanted is not None and (wanted % 8 or not 24 <= wanted <= 256):
        raise SimulationError(f"registers must be a multiple of 8 from 24 to 256, not {wanted}", here())
    return Task(bool(given), warps, wanted, copies, plain(warp_group_start_id))


@name
def async_task_replica_id(_semantic: Any = None) -> int:
    """Which copy of its role the running task is."""
    return _semantic.replica_id()  # type: ignore[no-any-return]
