"""What a trace must satisfy before it is worth playing: bytes, budgets, and tasks that can run at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from .events import Agent, Expect, Fill, Issue, Trace
from .flaw import Flawed
from .values import Barrier, BarrierArray, Buffer

#: Hopper: shared memory a CTA may take, registers of an SM, the fewest a thread may keep, threads of a CTA.
SHARED_BYTES = 232_448
REGISTERS = 65_536
FEWEST_REGISTERS = 24
THREADS = 1024
#: Swizzled tiles begin on multiples of this many bytes.
TILE_ALIGNMENT = 1024


def check_bytes(trace: Trace) -> None:
    """Each expect announces what the loads that follow it on its barrier bring. Raises Flawed("expect-bytes").

    Tasks that only expect, or only load, on a barrier are left to the game.
    """
    for stretch in trace.stretches:
        for agent in stretch:
            by_barrier: dict[Barrier, list[Expect | Fill]] = defaultdict(list)
            for event in agent.events:
                if isinstance(event, Expect | Fill):
                    by_barrier[event.barrier].append(event)
            for events in by_barrier.values():
                _check_barrier_bytes(events)


def _check_barrier_bytes(events: list[Expect | Fill]) -> None:
    if not any(isinstance(event, Expect) for event in events) or not any(isinstance(event, Fill) for event in events):
        return
    if isinstance(events[0], Fill):  # this text announces after it loads
        events = events[::-1]
    expect, loaded = None, 0
    groups: list[tuple[Expect, int]] = []
    for event in events:
        if isinstance(event, Expect):
            if expect is not None:
                groups.append((expect, loaded))
            expect, loaded = event, 0
        else:
            loaded += event.view.nbytes
    assert expect is not None
    groups.append((expect, loaded))
    loads = [event for event in events if isinstance(event, Fill)]
    for expect, loaded in groups:
        if loaded != expect.nbytes:
            text = (
                f"{expect.barrier.label} is told to expect {expect.nbytes} bytes; the loads bound to it bring {loaded}"
            )
            raise Flawed("expect-bytes", expect.line, text, loads[0].line)


def check_shared_memory(buffers: Iterable[Buffer], barriers: Iterable[BarrierArray]) -> int:
    """Bytes of shared memory that the allocations take. Raises Flawed("shared-memory-budget") beyond a CTA's share."""
    total, last = 0, 1
    for buffer in buffers:
        size = buffer.slots * buffer.slot_bytes
        if buffer.root is not None:
            if size > buffer.storage.slots * buffer.storage.slot_bytes:
                raise Flawed("shared-memory-budget", buffer.line, f"{buffer.name} is larger than what it reuses")
            continue
        total = -(-total // TILE_ALIGNMENT) * TILE_ALIGNMENT + size
        last = buffer.line
    total += sum(8 * array.count for array in barriers)
    if total > SHARED_BYTES:
        raise Flawed("shared-memory-budget", last, f"the rings take {total} bytes; a CTA has {SHARED_BYTES}")
    return total


def check_tasks(trace: Trace) -> None:
    """Warps and registers that the tasks ask for. Raises Flawed("register-budget") and Flawed("warps")."""
    for stretch in trace.stretches:
        workers = [agent for agent in stretch if not agent.default]
        if sum(agent.warps for agent in stretch) * 32 > THREADS:
            raise Flawed("warps", stretch[0].line, f"the tasks have more than {THREADS} threads together")
        for agent in workers:
            if agent.warps < 1 or agent.warps & (agent.warps - 1):
                raise Flawed("warps", agent.line, f"a task of {agent.warps} warps: a power of two is needed")
            if any(isinstance(event, Issue) and event.queue == "dot" for event in agent.events) and agent.warps % 4:
                raise Flawed("warps", agent.line, "async_dot needs a task of four warps or a multiple")
        _check_registers(stretch, workers)


def _check_registers(stretch: tuple[Agent, ...], workers: list[Agent]) -> None:
    asking = [agent for agent in workers if agent.registers is not None]
    if not asking:
        return
    if len(asking) != len(workers):
        silent = next(agent for agent in workers if agent.registers is None)
        raise Flawed(
            "register-budget",
            silent.line,
            "this task names no registers, another does: all or none",
            asking[0].line,
        )
    total = 0
    for agent in stretch:
        registers = FEWEST_REGISTERS if agent.registers is None else agent.registers
        if registers % 8 or not FEWEST_REGISTERS <= registers <= 256:
            raise Flawed(
                "register-budget",
                agent.line,
                f"{registers} registers: a multiple of 8 from 24 to 256 is needed",
            )
        total += 32 * agent.warps * registers
    if total > REGISTERS:
        raise Flawed("register-budget", asking[0].line, f"the tasks ask for {total} registers; an SM has {REGISTERS}")
