"""What all functions and tasks of one compilation have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .irtext import Place
    from .pools import Pool


@dataclass(slots=True)
class Compilation:
    """One kernel for one target."""

    #: compute capability, such as 90 or 100; 0 for a GPU that is not NVIDIA's
    capability: int
    #: name of an AMD GPU, such as gfx950
    gfx: str = ""
    #: threads of a warp
    warp_size: int = 32
    #: name of the kernel in the machine code
    kernel: str = ""
    #: whether the kernel opens a region of tasks
    has_region: bool = False
    #: places of the regions seen so far → whether they are exclusive
    regions: dict[tuple[str, int], bool] = field(default_factory=dict)
    #: pools of memory, in the order in which they were named
    pools: list[Pool] = field(default_factory=list)
    #: id of a named barrier → threads that take part
    named_barriers: dict[int, int] = field(default_factory=dict)
    #: places of reads that were warned of
    told: set[Place] = field(default_factory=set)

    @property
    def is_blackwell(self) -> bool:
        """Whether products go through tensor memory."""
        return self.capability // 10 in (10, 11)


_CURRENT: ContextVar[Compilation] = ContextVar("tlx_compilation")


def current() -> Compilation:
    """The compilation under way."""
    return _CURRENT.get()


def threads_per_warp() -> int:
    """Threads of a warp of the target."""
    found = _CURRENT.get(None)
    return 32 if found is None else found.warp_size


@contextmanager
def compiling(what: Compilation) -> Iterator[Compilation]:
    """Makes ``what`` the compilation under way."""
    token = _CURRENT.set(what)
    try:
        yield what
    finally:
        _CURRENT.reset(token)
