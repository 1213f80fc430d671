"""The semantic object that Triton passes to every builtin: ordinary blocks below, TLX on top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language._semantic import GluonCallerContext

from ..builtin import TLXError, described
from ..types import _SharedValue
from .amd import AmdSemantic
from .state import current


@dataclass(frozen=True, slots=True)
class Task:
    """Where code runs, as far as compiling it depends on that."""

    #: warps of the task
    num_warps: int
    #: index of the copy, None outside tasks
    replica: int | None = None
    #: non-default partitions of the region
    partitions: int = 0

    @property
    def reserved_barriers(self) -> frozenset[int]:
        """Hardware barriers the compiler uses: the default task's, the worker loop's and one for each partition."""
        return frozenset(range(2 + self.partitions))


class TaskContext(GluonCallerContext):  # type: ignore[misc]
    """What a helper inherits from its caller. Part of the helper's name, since its code depends on it."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.num_warps)
        self.task = task

    def mangle(self) -> str:
        """Suffix of the helper's name."""
        replica = "" if self.task.replica is None else f"_R{self.task.replica}"
        return f"_NW{self.task.num_warps}{replica}_P{self.task.partitions}"


class TLXSemantic(AmdSemantic):
    """Everything a TLX kernel can say, for one function and, at a time, one task."""

    is_tlx = True

    def __init__(self, builder: Any, task: Task) -> None:
        super().__init__(builder, task.num_warps)
        self.enter(task)

    def enter(self, task: Task) -> None:
        """Compiles for ``task`` from here on."""
        self.task = task
        self.warps = task.num_warps
        self.reserved_barriers = task.reserved_barriers

    def to_tensor(self, x: Any, check_type: bool = True) -> Any:
        """Stock; buffers and barriers are no numbers."""
        if isinstance(x, _SharedValue):
            raise TLXError(f"{described(x)} is no number and no block: local_load reads what a tile holds")
        return super().to_tensor(x, check_type)

    @property
    def blackwell(self) -> bool:
        """Whether products accumulate in tensor memory."""
        return current().is_blackwell

    def replica_id(self, generator: Any) -> Any:
        """The replica as a constexpr."""
        if self.task.replica is None:
            raise TLXError("async_task_replica_id is only known inside a task")
        return tl.constexpr(self.task.replica)

    def num_warps(self, generator: Any) -> Any:
        """Warps of the task, for Gluon's own helpers."""
        return tl.constexpr(self.warps)
