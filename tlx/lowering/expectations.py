"""What ``barrier_expect_bytes`` announces must be what copies bound to the barrier can bring.

A phase whose bytes never add up hangs the kernel, and one with too few lets readers in early. Barriers of one
``alloc_barriers`` are taken together. Nothing is said where a barrier cannot be traced to its allocation, or where
something other than a TMA load signals it.
"""

from __future__ import annotations

import re
from math import gcd

from . import irtext
from .irtext import BlockArguments, Op, Places

_EXPECT, _COPY = "ttng.barrier_expect", "ttng.async_tma_copy_global_to_local"
_EXPECTED = re.compile(r"ttng\.barrier_expect %\S+, (\d+)")
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
        self.ops = list(irtext.parse(text))
        self.places = Places(text)
        self.sources: dict[str, str | None] = {}
        for op in self.ops:
            self._define(op)

    def _define(self, op: Op | BlockArguments) -> None:
        if isinstance(op, BlockArguments):
            captured = op.owner.operands
            for position, name in enumerate(op.names):
                known = op.owner.code.startswith("ttg.warp_specialize") and position < len(captured)
                self.sources[name] = captured[position] if known else None
            return
        for result in op.results:
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

    def check(self) -> None:
        """Compares what is announced with what can come."""
        brought: dict[str, dict[int, Op]] = {}
        announced: list[tuple[str, int, Op]] = []
        spoiled: set[str] = set()
        for op in self.ops:
            if isinstance(op, BlockArguments):
                continue
            if op.code == _EXPECT:
                found = _EXPECTED.search(op.text)
                root = self.root(op.operands[0])
                if found is None or root is None:
                    return
                announced.append((root, int(found[1]), op))
            elif op.code == _COPY:
                roots = [root for root in map(self.root, op.operands) if root is not None]
                size = irtext.tile_bytes(op.text)
                if size is None or not roots:
                    return
                for root in roots:
                    brought.setdefault(root, {})[size] = op
            elif op.code not in _SILENT:
                spoiled |= {root for root in map(self.root, op.operands) if root is not None}
        for root, size, op in announced:
            if root not in spoiled and size:
                self._compare(size, op, brought.get(root, {}))

    def _compare(self, size: int, op: Op, copies: dict[int, Op]) -> None:
        if copies and reachable(size, set(copies)):
            return
        if not copies:
            why = "no copy in this kernel signals this barrier: give it to async_descriptor_load, or do not expect"
        else:
            each = ", ".join(f"{bytes} (line {place.line})" for bytes, place in self._lines(copies))
            why = f"the copies bound to it bring {each} bytes each, which never adds up: sum the sizes of its tiles"
        raise irtext.refuse(
            self.places.of(op), f"barrier_expect_bytes announces {size} bytes, but {why}; the phase would not complete"
        )

    def _lines(self, copies: dict[int, Op]) -> list[tuple[int, irtext.Place]]:
        nowhere = irtext.Place("?", 0, 0)
        return [(size, self.places.of(copy) or nowhere) for size, copy in sorted(copies.items())]


def check(text: str) -> None:
    """Refuses a printed module whose announcements cannot come true.

    Raises:
        TLXError: at the ``barrier_expect_bytes``.
    """
    if _EXPECT in text:
        _Barriers(text).check()
