"""The result of an ``async_dot`` must not be read before an ``async_dot_wait`` that threads it.

The fork compiles such a read without a word and the kernel computes garbage. Here every use of a product in flight is
looked at: another product may accumulate onto it, a wait lands it, loops and branches carry it on; anything else is
refused.
"""

from __future__ import annotations

from . import irtext
from .irtext import BlockArguments, Op, Places

_DOT, _WAIT = "ttng.warp_group_dot", "ttng.warp_group_dot_wait"


def _carried(op: Op) -> list[list[str]]:
    """For each operand of a terminator, the values that it becomes."""
    owner = op.parents[-1]
    results = list(owner.results)
    inner = [argument for argument, _ in owner.assigned]
    if op.code == "scf.condition":
        return [[], *([result] for result in results)]
    if owner.code == "scf.if":
        return [[result] for result in results]
    if owner.code == "scf.for":
        return [[result, argument] for result, argument in zip(results, inner, strict=False)]
    return [[argument] for argument in inner]


class _Flights:
    def __init__(self, text: str) -> None:
        self.ops = list(irtext.parse(text))
        self.places = Places(text)
        #: value in flight → the product it is
        self.flying: dict[str, Op] = {}
        #: values of the condition of each while loop, for the arguments of its body
        self.conditions: dict[int, tuple[str, ...]] = {}

    def settle(self) -> None:
        """Follows products through loops until nothing new is found."""
        known = -1
        while known != len(self.flying):
            known = len(self.flying)
            for op in self.ops:
                self._follow(op)

    def _mark(self, key: str, product: Op) -> None:
        self.flying.setdefault(key, product)

    def _follow(self, op: Op | BlockArguments) -> None:
        if isinstance(op, BlockArguments):
            for name, value in zip(op.names, self.conditions.get(id(op.owner), ()), strict=False):
                if product := self.flying.get(value):
                    self._mark(name, product)
            return
        if op.code == _DOT and "isAsync = true" in op.text:
            self._mark(op.results[0], op)
        for argument, initial in op.assigned:
            if product := self.flying.get(initial):
                self._mark(argument, product)
        if op.code in ("scf.yield", "scf.condition") and op.parents:
            if op.code == "scf.condition":
                self.conditions[id(op.parents[-1])] = op.operands[1:]
            for operand, targets in zip(op.operands, _carried(op), strict=False):
                if product := self.flying.get(operand):
                    for target in targets:
                        self._mark(target, product)

    def reads(self) -> None:
        """Refuses the first read of a product in flight."""
        for op in self.ops:
            if isinstance(op, BlockArguments) or op.code in (_WAIT, "scf.yield", "scf.condition"):
                continue
            carried = {initial for _, initial in op.assigned}
            for position, operand in enumerate(op.operands):
                product = self.flying.get(operand)
                if product is None or operand in carried or (op.code == _DOT and position == 2):
                    continue
                raise irtext.refuse(
                    self.places.of(op) or self.places.of(product),
                    f"the result of the async_dot at {self.places.of(product)} is read here while the tensor cores "
                    "are still writing it: thread it through async_dot_wait first, acc = tlx.async_dot_wait(0, acc)",
                )


def check(text: str) -> None:
    """Refuses a printed module that reads a product before its wait.

    Raises:
        TLXError: at the read, naming the product.
    """
    if _DOT not in text:
        return
    flights = _Flights(text)
    flights.settle()
    flights.reads()
