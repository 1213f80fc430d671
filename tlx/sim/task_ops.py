"""Simulation of ``async_tasks``: every replica of a task becomes an agent, and the region ends when all have ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import triton.language as tl

from .clc_ops import ClcOps
from .clocks import join
from .findings import CapturedTensor, RegisterBudget
from .report import SimulationError
from .scheduler import Agent
from .sites import Site, here
from .unwrap import plain
from .values import scalar_tensor

#: registers of an SM
REGISTERS = 65536
#: what a thread of the default task needs at least once the others have taken theirs (setmaxnreg's minimum)
LEAST_REGISTERS = 24


class _Unbound:
    """Stands for a name that had no value before the region."""

    def __repr__(self) -> str:
        return "a name without a value"


UNBOUND = _Unbound()


def capture(read: Callable[[], Any]) -> Any:
    """The value of a name when the region opens, if it has one."""
    try:
        return read()
    except (NameError, ValueError):  # an empty closure cell raises ValueError
        return UNBOUND


@dataclass(frozen=True, slots=True)
class _Task:
    spec: Any
    body: Callable[..., None]
    site: Site


class Region:
    """A ``with tlx.async_tasks()`` block; the rewritten kernel adds its tasks and runs it."""

    def __init__(self, ops: TaskOps, spec: Any) -> None:
        self.ops = ops
        self.spec = plain(spec)
        self.tasks: list[_Task] = []
        self.site = here()

    def add(self, spec: Any, body: Callable[..., None], line: int) -> None:
        """One ``with tlx.async_task(...)`` block."""
        self.tasks.append(_Task(spec, body, Site(self.site.file, line)))

    def run(self) -> None:
        """Starts all tasks and waits until all have ended."""
        cta = self.ops.cta
        if cta.in_region:
            raise SimulationError("async_tasks cannot be nested", self.site)
        defaults = [task for task in self.tasks if task.spec.is_default]
        if len(defaults) != 1:
            raise SimulationError(f"a region has exactly one default task, this one has {len(defaults)}", self.site)
        parent = cta.agent
        agents = self._agents(parent)
        self._check_registers()
        cta.partitions = len(agents) - 1
        cta.tasks = [agent for agent, _ in agents]
        cta.in_region = True
        parent.tick()
        for agent, body in agents:
            agent.learn(parent.clock, parent.proxied)
            agent.clock.setdefault(agent.lane, 1)
            cta.scheduler.spawn(agent, body)
        cta.scheduler.step()
        tasks = tuple(agent for agent, _ in agents)
        on = ("tasks", tasks, None)
        cta.scheduler.wait(lambda: all(agent.done for agent in tasks), "the end of its tasks", self.site, on)
        for agent, _ in agents:
            join(parent.clock, agent.clock)
            join(parent.proxied, agent.proxied)
        cta.partitions = 0
        cta.tasks = []
        cta.in_region = False
        if cta.cluster.size > 1 and not getattr(self.spec, "no_ending_cluster_sync", False):
            # What the compiler adds: no CTA goes on, or exits, before the tasks of its peers have ended.
            self.ops.cluster_barrier(self.site)

    def _agents(self, parent: Agent) -> list[tuple[Agent, Callable[[], None]]]:
        agents = []
        for task in self.tasks:
            if not task.spec.is_default:
                self._check_captures(task)
            for replica in range(task.spec.replicate):
                name = "the default task" if task.spec.is_default else f"the task of line {task.site.line}"
                if task.spec.replicate > 1:
                    name += f", replica {replica}"
                cta = self.ops.cta
                warps = task.spec.num_warps or cta.warps
                agents.append((Agent(name + cta.suffix, warps, replica, cta=cta, site=task.site), task.body))
        return agents

    def _check_captures(self, task: _Task) -> None:
        body = task.body
        assert isinstance(body, FunctionType)
        cells = zip(body.__code__.co_freevars, body.__closure__ or (), strict=True)
        names = {name: capture(lambda cell=cell: cell.cell_contents) for name, cell in cells}  # type: ignore[misc]
        taken = body.__code__.co_varnames[: body.__code__.co_argcount]
        names |= dict(zip(taken, body.__defaults__ or (), strict=True))
        for name, value in names.items():
            if isinstance(value, tl.tensor) and value.type.is_block():
                what = f"a non-default task uses {name}, a block tensor {value.type} from outside"
                self.ops.cta.found(CapturedTensor, what, site=task.site, other=self.site)

    def _check_registers(self) -> None:
        asked = [(t.spec.num_warps * t.spec.replicate, t.spec.registers) for t in self.tasks if not t.spec.is_default]
        if not asked or any(registers is None for _, registers in asked):
            return
        default = next(task for task in self.tasks if task.spec.is_default)
        own = 32 * self.ops.cta.warps * default.spec.replicate * (default.spec.registers or LEAST_REGISTERS)
        total = sum(32 * warps * registers for warps, registers in asked) + own
        if total > REGISTERS:
            what = f"the tasks need {total} registers ({own} of them for the default task), an SM has {REGISTERS}"
            greedy = max(self.tasks, key=lambda task: (task.spec.num_warps or 0) * (task.spec.registers or 0))
            self.ops.cta.found(RegisterBudget, what, site=self.site, other=greedy.site)


class TaskOps(ClcOps):
    """Part of the semantic layer."""

    def open_region(self, spec: Any) -> Region:
        """Called where ``with tlx.async_tasks()`` stood."""
        return Region(self, spec)

    def replica_id(self, generator: Any = None) -> int:
        """Index of the replica that is running."""
        if not self.cta.in_region:
            raise SimulationError("async_task_replica_id is only known inside a task", here())
        return self.cta.agent.replica

    def special_register(self, name: str, dtype: Any) -> Any:
        """Thread 0 stands for its task; clocks count scheduling steps."""
        return scalar_tensor(self.cta.scheduler.steps if "clock" in name else 0, dtype)
