"""How many products were issued after each product that a wait names, before the wait.

A wait lets its newest ``pendings`` products stay in flight, so what it threads has landed only if at least so many
were issued after it. Where ways through the kernel differ, the most is taken: of a product that has too few even then,
it is sure that it is still in flight.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from .irtext import BlockArguments, Op

DOT, WAIT = "ttng.warp_group_dot", "ttng.warp_group_dot_wait"
_PENDINGS = re.compile(r"pendings = (\d+)")

#: value → the products that it may be, each with how many were issued since
_State = dict[str, dict[Op, int]]


def is_product(op: Op) -> bool:
    """Whether an operation issues a product and goes on."""
    return op.code == DOT and "isAsync = true" in op.text


def pendings(wait: Op) -> int:
    """How many products a wait lets stay in flight."""
    found = _PENDINGS.search(wait.text)
    return int(found[1]) if found else 0


def carried(loop: Op) -> tuple[tuple[str, str], ...]:
    """What a loop carries: each argument of its body with its initial value. The number it counts is none of them."""
    return loop.assigned[len(loop.assigned) - len(loop.results) :] if loop.code == "scf.for" else loop.assigned


class Issued:
    """Follows a printed module from its start to its end, loops until nothing changes."""

    def __init__(self, ops: Sequence[Op | BlockArguments]) -> None:
        waits = [op for op in ops if isinstance(op, Op) and op.code == WAIT]
        #: enough for every wait; nobody counts further
        self.plenty = 1 + max(map(pendings, waits), default=0)
        #: wait → the products that it threads, each with how many were issued after it
        self.before: dict[Op, dict[Op, int]] = {wait: {} for wait in waits}
        self.inside: dict[Op | None, list[Op | BlockArguments]] = defaultdict(list)
        known: set[Op] = set()
        for op in ops:
            # The halves of a specialized region are parents without being operations themselves.
            for depth, parent in enumerate(op.parents):
                if parent not in known:
                    known.add(parent)
                    if parent.code == "partition":
                        self.inside[op.parents[depth - 1] if depth else None].append(parent)
            if isinstance(op, Op):
                known.add(op)
            self.inside[op.parents[-1] if op.parents else None].append(op)
        self._walk(self.inside[None], {})

    # ---- states ---------------------------------------------------------------------------------------------------

    @staticmethod
    def _copy(state: _State) -> _State:
        return {value: dict(products) for value, products in state.items()}

    @staticmethod
    def _join(one: _State, other: _State) -> _State:
        """Either of two ways here."""
        joined = Issued._copy(one)
        for value, products in other.items():
            into = joined.setdefault(value, {})
            for product, count in products.items():
                into[product] = max(count, into.get(product, 0))
        return joined

    def _renamed(self, state: _State, sources: Sequence[str], targets: Sequence[str]) -> _State:
        """The state in which ``targets`` have the values of ``sources``."""
        renamed = self._copy(state)
        found = [(target, state.get(source)) for source, target in zip(sources, targets, strict=False)]
        renamed |= {target: dict(products) for target, products in found if products}
        return renamed

    def _count(self, state: _State, enough: int) -> None:
        """From now on, all of which so many were issued since count as landed long ago."""
        for products in state.values():
            products.update({product: self.plenty for product, count in products.items() if count >= enough})

    # ---- operations -----------------------------------------------------------------------------------------------

    def _walk(self, items: Sequence[Op | BlockArguments], state: _State) -> _State:
        for op in items:
            state = self._step(op, state)
        return state

    def _step(self, op: Op | BlockArguments, state: _State) -> _State:
        if isinstance(op, BlockArguments):
            if op.parents[-1].code in ("tt.func", "partition"):
                # One can jump here from anywhere: nothing is known to be too few.
                self._count(state, 0)
            return state
        if op.code in ("tt.call", "tt.dot", DOT, WAIT):
            return self._product(op, state)
        body = self.inside.get(op, [])
        if op.code == "tt.func":
            self._walk(body, {})
        elif op.code == "partition":
            # Every task has warps, and so products, of its own; the default task is the one that goes on.
            after = self._walk(body, self._copy(state))
            return after if op.text.startswith("default") else state
        elif op.code == "scf.if":
            return self._branches(op, state)
        elif op.code == "scf.for":
            return self._loop(op, state)
        elif op.code == "scf.while":
            return self._while(op, state)
        elif body:
            return self._walk(body, state)
        return state

    def _product(self, op: Op, state: _State) -> _State:
        if op.code != WAIT and not is_product(op):
            # It waits for everything by itself, or cannot be looked into.
            self._count(state, 0)
            return state
        if is_product(op):
            for products in state.values():
                products.update({product: min(count + 1, self.plenty) for product, count in products.items()})
            state[op.results[0]] = {op: 0}
            return state
        for operand, result in zip(op.operands, op.results, strict=False):
            products = state.get(operand, {})
            at = self.before[op]
            at.update({product: max(count, at.get(product, 0)) for product, count in products.items()})
            if products:
                state[result] = dict(products)
        self._count(state, pendings(op))
        return state

    # ---- control flow ---------------------------------------------------------------------------------------------

    def _part(self, op: Op, first: bool) -> list[Op | BlockArguments]:
        """The first region of an operation, or what follows it."""
        return [inner for inner in self.inside[op] if (inner.block == 0) is first]

    @staticmethod
    def _ends(items: Sequence[Op | BlockArguments]) -> tuple[str, ...]:
        last = items[-1] if items else None
        return last.operands if isinstance(last, Op) and last.code in ("scf.yield", "scf.condition") else ()

    def _branches(self, op: Op, state: _State) -> _State:
        ways = []
        for first in (True, False):
            items = self._part(op, first)
            after = self._walk(items, self._copy(state))
            ways.append(self._renamed(after, self._ends(items), op.results))
        return self._join(*ways)

    def _loop(self, op: Op, state: _State) -> _State:
        arguments, initial = [name for name, _ in carried(op)], [value for _, value in carried(op)]
        body = self.inside[op]
        never = self._renamed(state, initial, op.results)
        entered = self._renamed(state, initial, arguments)
        while True:
            after = self._walk(body, self._copy(entered))
            again = self._join(entered, self._renamed(after, self._ends(body), arguments))
            if again == entered:
                return self._join(never, self._renamed(after, self._ends(body), op.results))
            entered = again

    def _while(self, op: Op, state: _State) -> _State:
        arguments, initial = [name for name, _ in carried(op)], [value for _, value in carried(op)]
        test, body = self._part(op, True), self._part(op, False)
        label = next((item for item in body if isinstance(item, BlockArguments)), None)
        inner = [item for item in body if item is not label]
        entered = self._renamed(state, initial, arguments)
        while True:
            tested = self._walk(test, self._copy(entered))
            passed = self._ends(test)[1:]
            started = self._renamed(tested, passed, label.names if label else ())
            after = self._walk(inner, self._copy(started))
            again = self._join(entered, self._renamed(after, self._ends(inner), arguments))
            if again == entered:
                return self._renamed(tested, passed, op.results)
            entered = again
