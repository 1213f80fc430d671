"""The result of an ``async_dot`` must not be read before an ``async_dot_wait`` that threads it.

The fork compiles such a read without a word and the kernel computes garbage. Here every use of a product in flight is
looked at: another product may accumulate onto it, a wait lands it if enough others were issued after it, loops and
branches carry it on; anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import irtext
from .irtext import BlockArguments, Op, Places
from .issued import DOT, WAIT, Issued, carried, is_product, pendings


def _carried(op: Op) -> list[list[str]]:
    """For each operand of a terminator, the values that it becomes."""
    owner = op.parents[-1]
    results = list(owner.results)
    inner = [argument for argument, _ in carried(owner)]
    if op.code == "scf.condition":
        return [[], *([result] for result in results)]
    if owner.code == "scf.if":
        return [[result] for result in results]
    if owner.code == "scf.for":
        return [[result, argument] for result, argument in zip(results, inner, strict=False)]
    return [[argument] for argument in inner]


class _Flights:
    def __init__(self, text: str) -> None:
        self.ops = irtext.parsed(text)
        self.places = Places(text)
        #: value in flight → the products that it may be, each with the wait that it went through too early
        self.flying: dict[str, dict[Op, Op | None]] = {}
        #: values of the condition of each while loop, for the arguments of its body
        self.conditions: dict[int, tuple[str, ...]] = {}
        #: wait → the products that it threads, each with how many were issued after it at most
        self.before = Issued(self.ops).before

    def settle(self) -> None:
        """Follows products through loops until nothing new is found."""
        known = -1
        while known != (known := sum(map(len, self.flying.values()))):
            for op in self.ops:
                self._follow(op)

    def _mark(self, key: str, products: Mapping[Op, Op | None] | None) -> None:
        for product, wait in (products or {}).items():
            self.flying.setdefault(key, {}).setdefault(product, wait)

    def _follow(self, op: Op | BlockArguments) -> None:
        if isinstance(op, BlockArguments):
            for name, value in zip(op.names, self.conditions.get(id(op.owner), ()), strict=False):
                self._mark(name, self.flying.get(value))
            return
        if is_product(op):
            self._mark(op.results[0], {op: None})
        if op.code == WAIT:
            issued, enough = self.before[op], pendings(op)
            for operand, result in zip(op.operands, op.results, strict=False):
                early = [product for product in self.flying.get(operand, {}) if issued.get(product, enough) < enough]
                self._mark(result, dict.fromkeys(early, op))
        for argument, initial in op.assigned:
            self._mark(argument, self.flying.get(initial))
        if op.code in ("scf.yield", "scf.condition") and op.parents:
            if op.code == "scf.condition":
                self.conditions[id(op.parents[-1])] = op.operands[1:]
            for operand, targets in zip(op.operands, _carried(op), strict=False):
                for target in targets:
                    self._mark(target, self.flying.get(operand))

    def reads(self) -> None:
        """Refuses the first read of a product in flight."""
        for op in self.ops:
            if isinstance(op, BlockArguments) or op.code in (WAIT, "scf.yield", "scf.condition"):
                continue
            passed_on = {initial for _, initial in op.assigned}
            for position, operand in enumerate(op.operands):
                products = self.flying.get(operand)
                if not products or operand in passed_on or (op.code == DOT and position == 2):
                    continue
                product, wait = next(iter(products.items()))
                raise irtext.refuse(
                    self.places.of(op) or self.places.of(product),
                    f"the result of the async_dot at {self.places.of(product)} is read here while the tensor cores "
                    f"are still writing it: {self._remedy(product, wait)}",
                )

    def _remedy(self, product: Op, wait: Op | None) -> str:
        if wait is None:
            return "thread it through async_dot_wait first, acc = tlx.async_dot_wait(0, acc)"
        issued, allowed = self.before[wait][product], pendings(wait)
        return (
            f"async_dot_wait({allowed}, ...) at {self.places.of(wait)} lets the newest {allowed} stay in flight, and "
            f"this is one of them, with {issued} issued after it: thread it through async_dot_wait({issued}, ...) "
            "before it is read"
        )


def check(text: str) -> None:
    """Refuses a printed module that reads a product before its wait.

    Raises:
        TLXError: at the read, naming the product.
    """
    if DOT not in text:
        return
    flights = _Flights(text)
    flights.settle()
    flights.reads()
