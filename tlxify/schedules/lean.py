"""A producer of one warp, beside consumers that are the kernel's own warps.

One warp has nobody to wait for before the TMA is asked, and needs few registers. Measured on an H200 over the corpus it
gains nothing: the chip takes warps in groups of four all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..diagnostics import Decline
from ..plan import Ring, Task
from ..targets import Target


def lean(target: Target, made: Iterable[Ring], tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """The tasks with such a producer.

    Raises Decline TLX320 where threads copy rows, 32 as slowly as they are few, and where a third role computes.
    """
    copied = next((b.name for ring in made for b in ring.buffers if b.view.copied is not None), None)
    if copied is not None:
        raise Decline("TLX320", None, why=f"its threads copy the rows of `{copied}`")
    if any(task.name == "transform" for task in tasks):
        raise Decline("TLX320", None, why="a role of its own computes the second operand")
    return tuple(
        replace(task, warps="1", registers=str(target.lean_registers)) if task.name == "producer" else task
        for task in tasks
    )
