"""A slot number that is a constant must be one of the ring's.

Literals are refused where they are written. What reaches an index through a variable, from the number of a task's copy
or as the last turn of a loop is a constant only once the module has been folded, so it is looked at here. Refused is
what some use surely reaches: never a view that nothing uses, a use that is switched off, or a number of one copy of a
task behind a condition that other copies may be meant for.
"""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product

from . import irtext
from .irtext import Op, Place, Places

_INDEX = "ttg.memdesc_index"
_CONSTANT = re.compile(r"arith\.constant (-?\d+|true|false)\b")
_EXTENT = re.compile(r": !ttg\.memdesc<(\d+)x")
#: of a member of a pool: how many slots it has, and its scale, offset and group (overlap.SlotMap)
_MEMBER = re.compile(r'tlx_member = "(\d+),(\d+),(\d+),(\d+)"')


def _divided(left: int, right: int) -> int:
    """Towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.divsi": _divided,
    "arith.remsi": lambda left, right: left - right * _divided(left, right),
}
#: other names of a tile
_VIEWS = frozenset("ttg.memdesc_subslice ttg.memdesc_trans ttg.memdesc_reshape ttg.memdesc_reinterpret".split())
#: what always touches its tile
_ACCESSES = frozenset(
    "ttg.local_load ttg.local_store ttng.warp_group_dot ttng.init_barrier ttng.tmem_load "
    "ttng.async_tma_copy_local_to_global".split()
)
#: what does where no mask leaves out elements
_MASKED = "ttg.async_copy_global_to_local"
#: what does if its last operand says so
_GATED = frozenset(
    "ttng.wait_barrier ttng.arrive_barrier ttng.barrier_expect ttng.async_tma_copy_global_to_local "
    "ttng.tmem_store".split()
)


class _Slots:
    def __init__(self, text: str) -> None:
        ops = irtext.parsed(text)
        self.places = Places(text)
        self.ops = [op for op in ops if isinstance(op, Op)]
        self.makers = {result: op for op in self.ops for result in op.results}
        self.users: dict[str, list[Op]] = defaultdict(list)
        for op in self.ops:
            for value in op.operands:
                self.users[value].append(op)
        #: number that a loop counts → the loop
        self.counters = {op.assigned[0][0]: op for op in self.ops if op.code == "scf.for" and op.assigned}

    # ---- numbers --------------------------------------------------------------------------------------------------

    def value(self, name: str, turns: dict[str, int]) -> int | None:
        """A number, where the loops are in these turns."""
        if name in turns:
            return turns[name]
        maker = self.makers.get(name)
        if maker is None:
            return None
        if found := _CONSTANT.search(maker.text):
            return int(found[1]) if found[1] not in ("true", "false") else int(found[1] == "true")
        if maker.code in ("arith.extsi", "arith.trunci"):
            return self.value(maker.operands[0], turns)
        combine = _ARITHMETIC.get(maker.code)
        if combine is None:
            return None
        left, right = (self.value(operand, turns) for operand in maker.operands)
        if left is None or right is None or (not right and maker.code in ("arith.divsi", "arith.remsi")):
            return None
        return combine(left, right)

    def turns(self, loop: Op) -> tuple[int, int] | None:
        """What a loop counts first and last, if that is known and it has a turn."""
        # Operands stand as they are written: the first number is among the assigned, then the end and the step.
        start = self.value(loop.assigned[0][1], {})
        end, step = (self.value(name, {}) for name in loop.operands[1:3])
        if start is None or end is None or step is None or step < 1 or end <= start:
            return None
        return start, start + (end - start - 1) // step * step

    def reached(self, op: Op) -> Iterator[tuple[int, bool]]:
        """Numbers that an index surely has, and whether a loop gives them."""
        index = op.operands[1]
        plain = self.value(index, {})
        if plain is not None:
            yield plain, False
            return
        around = [parent for parent in op.parents if parent.code == "scf.for"]
        loops = [(counter, loop) for counter, loop in self.counters.items() if loop in around]
        known = {counter: ends for counter, loop in loops if (ends := self.turns(loop)) is not None}
        counting = [loop for counter, loop in loops if counter in known]
        first = min((around.index(loop) for loop in counting), default=0)
        if any(loop not in counting for loop in around[first:]):
            return  # a loop inside of the counting one may have no turn in the one that matters
        for numbers in product(*known.values()):
            number = self.value(index, dict(zip(known, numbers, strict=True)))
            if number is not None and self.certain(op):
                yield number, True

    # ---- uses -----------------------------------------------------------------------------------------------------

    def certain(self, op: Op) -> bool:
        """Whether the tile of a view is touched in every turn of the loops around it, without a condition."""
        inside = [parent.code for parent in op.parents]
        inside = inside[len(inside) - inside[::-1].index("partition") :] if "partition" in inside else inside
        return not {"scf.if", "scf.while"} & set(inside) and any(self._touches(op))

    def _touches(self, op: Op) -> Iterator[bool]:
        for user in self.users[op.results[0]]:
            if (user.parents, user.block) != (op.parents, op.block):
                continue
            if user.code in _VIEWS:
                yield from self._touches(user)
            else:
                always = user.code in _ACCESSES or (user.code == _MASKED and " mask " not in user.text)
                yield always or (user.code in _GATED and self.value(user.operands[-1], {}) == 1)

    def _off(self, op: Op) -> bool:
        """Whether nothing can touch the tile of a view."""
        return all(user.code in _GATED and self.value(user.operands[-1], {}) == 0 for user in self.users[op.results[0]])

    # ---- the rule -------------------------------------------------------------------------------------------------

    @staticmethod
    def _ring(op: Op) -> tuple[int, Callable[[int], int]] | None:
        """How many slots there are, and which of them a number stands for."""
        if op.code != _INDEX:
            return None
        if member := _MEMBER.search(op.text):
            extent, scale, offset, group = map(int, member.groups())
            return extent, lambda number: (number - offset) // scale * group + (number - offset) % scale
        extents = _EXTENT.search(op.text)
        return (int(extents[1]), lambda number: number) if extents else None

    def check(self) -> None:
        """Refuses the first number that is none of the ring's."""
        found: list[tuple[Op, int, int, bool]] = []
        right: set[Place | None] = set()
        for op in self.ops:
            ring = self._ring(op)
            if ring is None or self._off(op):
                continue
            extent, slot = ring
            for number, turning in self.reached(op):
                if 0 <= slot(number) < extent:
                    right |= set() if turning else {self.places.of(op)}
                else:
                    found.append((op, slot(number), extent, turning))
        for op, number, extent, turning in found:
            # A place that is right elsewhere is that of several copies of a task, or of a helper.
            if turning or self.places.of(op) not in right or self.certain(op):
                when = " in a turn of its loop" if turning else ""
                raise irtext.refuse(
                    self.places.of(op),
                    f"slot {number} is out of range{when}: there are {extent}, numbered from 0; allocate more, or "
                    "count modulo their number",
                )


def check(text: str) -> None:
    """Refuses a folded module that surely uses a slot which is not there.

    Raises:
        TLXError: where the slot is taken.
    """
    if _INDEX in text:
        _Slots(text).check()
