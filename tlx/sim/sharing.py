"""Programs of one launch that touch the same memory with nothing to order them.

Programs are simulated one after the other, so what a GPU would do at once never shows in the results: two programs
that read a sum, add to it and store it are right here and wrong there. So it is kept who touched what. One access is
ordered behind another program's if that program did an atomic after it and this one did an atomic before it: that is
how locks and counters hand memory over. Storing what is there already disturbs nobody.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from .sites import Site, here
from .tensors import Allocation

#: In the place of a program: several of them.
MANY = -1


@dataclass(frozen=True, slots=True)
class Clash:
    """Two programs at one place, one of them storing."""

    #: one sentence of fact
    what: str
    #: the later of the two accesses
    site: Site


class _Marks:
    """Who did one kind of thing to each byte of an allocation last, and after how many atomics of its own."""

    def __init__(self, size: int) -> None:
        #: number of the program, from 1; 0: nobody
        self.by: np.ndarray = np.zeros(size, np.int32)
        self.after: np.ndarray = np.zeros(size, np.int32)


class Sharing:
    """What the programs of a launch did to global memory through pointers, byte by first byte of each element."""

    def __init__(self) -> None:
        self._program = 0
        #: program → atomics it has done
        self._atomics: dict[int, int] = defaultdict(int)
        self._marks: dict[tuple[int, str], _Marks] = {}
        self._clashes: dict[tuple[str, Site], Clash] = {}

    @property
    def clashes(self) -> tuple[Clash, ...]:
        """One for each pair of kinds and line."""
        return tuple(self._clashes.values())

    def enter(self) -> None:
        """The next program begins."""
        self._program += 1

    def loaded(self, allocation: Allocation, offsets: np.ndarray) -> None:
        """An ordinary load of the elements that begin at these bytes."""
        self._meet(allocation, offsets, "store", "reads what another program of the launch stores")
        self._meet(allocation, offsets, "atomic", "reads what another program of the launch adds to")
        marks = self._of(allocation, "load")
        several = (marks.by[offsets] != 0) & (marks.by[offsets] != self._program)
        marks.by[offsets] = np.where(several, MANY, self._program)
        marks.after[offsets] = self._atomics[self._program]

    def stored(self, allocation: Allocation, offsets: np.ndarray, changed: np.ndarray) -> None:
        """An ordinary store, which changes those of the elements."""
        new = offsets[changed]
        self._meet(allocation, new, "store", "stores where another program of the launch stores something else")
        self._meet(allocation, new, "load", "stores what another program of the launch reads")
        self._meet(allocation, new, "atomic", "stores where another program of the launch adds")
        self._mark(allocation, new, "store")

    def updated(self, allocation: Allocation, offsets: np.ndarray) -> None:
        """An atomic."""
        self._meet(allocation, offsets, "store", "adds to what another program of the launch stores")
        self._meet(allocation, offsets, "load", "adds to what another program of the launch reads")
        self._atomics[self._program] += 1
        self._mark(allocation, offsets, "atomic")

    def _of(self, allocation: Allocation, kind: str) -> _Marks:
        key = (allocation.start, kind)
        if key not in self._marks:
            self._marks[key] = _Marks(allocation.stop - allocation.start)
        return self._marks[key]

    def _mark(self, allocation: Allocation, offsets: np.ndarray, kind: str) -> None:
        marks = self._of(allocation, kind)
        marks.by[offsets] = self._program
        marks.after[offsets] = self._atomics[self._program]

    def _meet(self, allocation: Allocation, offsets: np.ndarray, kind: str, what: str) -> None:
        if (allocation.start, kind) not in self._marks or not offsets.size:
            return
        marks = self._of(allocation, kind)
        by = marks.by[offsets]
        others = (by != 0) & (by != self._program)
        if not others.any():
            return
        if self._atomics[self._program]:
            released = self._released(by[others], marks.after[offsets][others])
            if released.all():
                return
        site = here()
        self._clashes.setdefault((what, site), Clash(what, site))

    def _released(self, programs: np.ndarray, after: np.ndarray) -> Any:
        """Which of the accesses their programs followed by an atomic."""
        most = max(self._atomics.values())
        done = [most if program == MANY else self._atomics[program] for program in programs.tolist()]
        return np.array(done) > after
