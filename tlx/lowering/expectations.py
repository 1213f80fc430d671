"""What ``barrier_expect_bytes`` announces must be what copies bound to the barrier can bring.

A phase whose bytes never add up hangs the kernel, and one with too few lets readers in early. Nothing is said where a
barrier cannot be traced to its allocation, or where something other than a TMA load signals it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import gcd

from ..builtin import TLXError
from . import irtext
from .balance import Event, Imbalance, imbalances
from .irtext import BlockArguments, Op, Places

_EXPECT, _COPY = "ttng.barrier_expect", "ttng.async_tma_copy_global_to_local"
_EXPECTED = re.compile(r"ttng\.barrier_expect %\S+, (\d+)")
_NUMBER, _TRUTH = re.compile(r"arith\.constant (-?\d+) : i32"), re.compile(r"arith\.constant (true|false)\b")
#: operations that use a barrier without bringing bytes to it
_SILENT = frozenset(
    "ttng.init_barrier ttng.wait_barrier ttng.arrive_barrier ttng.inval_barrier ttng.tc_gen5_mma "
    "ttng.tc_gen5_mma_scaled ttng.tc_gen5_commit ttg.local_dealloc ttg.memdesc_index ttg.warp_specialize "
    "ttng.barrier_expect ttng.async_tma_copy_global_to_local ttg.warp_specialize.partitions "
    "ttng.async_copy_mbarrier_arrive".split()
)


def reachable(total: int, sizes: set[int]) -> bool:
    """Whether ``total`` bytes are a sum of copies of these sizes, each as often as one likes."""
    unit = gcd(*sizes)
    if total % unit:
        return False
    steps, goal = {size // unit for size in sizes}, total // unit
    sums = {0}
    for _ in range(goal):
        if goal in sums:
            return True
        sums |= {done + step for done in sums for step in steps if done + step <= goal}
        if len(sums) > 4096:
            return True
    return goal in sums


class _Barriers:
    def __init__(self, text: str) -> None:
        self.ops = irtext.parsed(text)
        self.places = Places(text)
        self.sources: dict[str, str | None] = {}
        self.makers: dict[str, Op] = {}
        for op in self.ops:
            self._define(op)
        initialised = (op for op in self.ops if isinstance(op, Op) and op.code == "ttng.init_barrier")
        #: allocations of barriers
        self.barriers = {self.root(op.operands[0]) for op in initialised}

    def _define(self, op: Op | BlockArguments) -> None:
        if isinstance(op, BlockArguments):
            captured = op.owner.operands
            for position, name in enumerate(op.names):
                known = op.owner.code.startswith("ttg.warp_specialize") and position < len(captured)
                self.sources[name] = captured[position] if known else None
            return
        for result in op.results:
            self.makers[result] = op
            if op.code == "ttg.memdesc_index":
                self.sources[result] = op.operands[0]
            elif op.code == "ttg.local_alloc":
                self.sources[result] = result
            else:
                self.sources[result] = None

    def root(self, value: str) -> str | None:
        """The allocation behind a barrier, or None."""
        for _ in range(64):
            source = self.sources.get(value)
            if source is None or source == value:
                return source
            value = source
        return None

    def _slot(self, value: str) -> int | None:
        """The number of a barrier in its allocation, if it is written as a constant."""
        view = self.makers.get(value)
        index = self.makers.get(view.operands[1]) if view is not None and view.code == "ttg.memdesc_index" else None
        found = _NUMBER.search(index.text) if index is not None else None
        return int(found[1]) if found else None

    def _pred(self, value: str) -> bool | None:
        maker = self.makers.get(value)
        found = _TRUTH.search(maker.text) if maker is not None else None
        return found[1] == "true" if found else None

    def check(self) -> None:
        """Compares what is announced with what can come."""
        events: list[Event] = []
        spoiled: set[str] = set()
        for op in self.ops:
            if isinstance(op, BlockArguments):
                continue
            if op.code in (_EXPECT, _COPY):
                announces = op.code == _EXPECT
                bar = op.operands[0 if announces else -2]
                found = _EXPECTED.search(op.text)
                size = int(found[1]) if found else None if announces else irtext.tile_bytes(op.text)
                root = self.root(bar)
                if size is None or root is None or root not in self.barriers:
                    return
                events.append(
                    Event(op, root, self._slot(bar), size, announces, self._pred(op.operands[-1]), op.operands[-1])
                )
            elif op.code not in _SILENT:
                spoiled |= {root for root in map(self.root, op.operands) if root is not None}
        clear = [event for event in events if event.root not in spoiled]
        self._sums(clear)
        for uneven in imbalances(clear):
            self._refuse(uneven)

    def _sums(self, events: Sequence[Event]) -> None:
        """Each announcement must be a sum of copies to its allocation, wherever they are."""
        for event in events:
            if not event.announces or not event.size:
                continue
            copies = {copy.size: copy for copy in events if copy.root == event.root and not copy.announces}
            if copies and reachable(event.size, set(copies)):
                continue
            if copies:
                each = ", ".join(f"{size} (line {self._line(copy)})" for size, copy in sorted(copies.items()))
                why = f"the copies bound to it bring {each} bytes each, which never adds up: sum the sizes of its tiles"
            else:
                why = "no copy in this kernel signals this barrier: give it to async_descriptor_load, or do not expect"
            raise self._error(event, f"{_announces(event.size)}, but {why}; the phase would not complete")

    def _refuse(self, found: Imbalance) -> None:
        announced, brought = (sum(e.size for e in part) for part in (found.announced, found.brought))
        copies = " + ".join(f"{event.size} (line {self._line(event)})" for event in found.brought)
        if not found.announced:
            raise self._error(
                found.brought[0],
                f"async_descriptor_load brings {found.brought[0].size} bytes to a barrier for which nothing announces "
                "them: put barrier_expect_bytes(bar, bytes) before it, with the bytes of all loads of the phase",
            )
        lines = [self._line(event) for event in found.announced]
        told = (
            _announces(announced) if len(lines) == 1 else f"barrier_expect_bytes (lines {', '.join(map(str, lines))})"
        )
        told += "" if len(lines) == 1 else f" announces {announced} bytes together"
        what = f"the copies here bring {brought}: {copies}" if brought else "no copy brings them"
        then = "would not complete" if found.excess > 0 else "would be over before all of them are there"
        raise self._error(found.announced[0], f"{told}, but {what}; the phase {then}: announce the sum of its tiles")

    def _line(self, event: Event) -> int:
        place = self.places.of(event.op)
        return place.line if place else 0

    def _error(self, event: Event, message: str) -> TLXError:
        return irtext.refuse(self.places.of(event.op), message)


def _announces(size: int) -> str:
    return f"barrier_expect_bytes announces {size} bytes"


def check(text: str) -> None:
    """Refuses a printed module whose announcements cannot come true.

    Raises:
        TLXError: at the ``barrier_expect_bytes``.
    """
    if _EXPECT in text or _COPY in text:
        _Barriers(text).check()
