"""Statistics of rows are updated as soon as they can be, in loops whose products fill the registers.

Why: online softmax updates its row sums at the end of a round, after the second product. What the update needs, the
sums of this round and the factors, waits through both products. That is little, but where the accumulators alone take
all registers of a thread it makes the assembler move much more through local memory.

Before: ``%s = reduce %p …; warp_group_dot …; wait …; %l1 = mulf %l, %alpha; %l2 = addf %l1, %s``.

After: ``%s = reduce %p …; %l1 = mulf %l, %alpha; %l2 = addf %l1, %s; warp_group_dot …; wait …``.

Not when: the products of the loop leave registers free, the operation is on more than one dimension (it would hold up
the product), or it keeps more alive than it ends.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from .irtext import Op, parse

#: registers of a thread, all but a few for addresses and counters
_REGISTERS = 224
_PRODUCT = "ttng.warp_group_dot"
_UPDATES = frozenset(f"arith.{name}" for name in "addf subf mulf maxnumf minnumf maximumf minimumf".split())
_ROWS = re.compile(r" : tensor<\d+x\w+, (#ttg\.slice<\{.*\}>|#\w+)>(?: loc\(\S+\))?$")
_RESULT = re.compile(r"-> tensor<((?:\d+x)+)[a-z]+(\d+)")
_WARPS = re.compile(r"num_warps\((\d+)\)")
_MODULE_WARPS = re.compile(r'"ttg\.num-warps" = (\d+)')


def registers(product: Op, warps: int) -> int:
    """What the result of a product takes of each thread."""
    found = _RESULT.search(product.text)
    if found is None:
        return 0
    size = int(found[2])
    for extent in found[1].split("x")[:-1]:
        size *= int(extent)
    return size // (32 * 32 * warps)


def crowded(body: Sequence[Op], warps: int) -> bool:
    """Whether the products of a loop fill the registers."""
    return sum(registers(op, warps) for op in body if op.code == _PRODUCT) > _REGISTERS


def ordered(body: Sequence[Op], readers: Mapping[str, Sequence[Op]]) -> list[Op]:
    """The operations of a loop's body in their new order."""
    order, depth = list(body), len(body[0].parents)
    makers = {result: op for op in body for result in op.results}
    arguments = {argument for argument, _ in body[0].parents[-1].assigned}
    for op in body:
        if op.code not in _UPDATES or not _ROWS.search(op.text):
            continue
        now = order.index(op)
        first = 1 + max((order.index(makers[value]) for value in op.operands if value in makers), default=-1)
        if not any(each.code == _PRODUCT for each in order[first:now]):
            continue
        waiting = {each for each in order[first:] if each is not op}
        # Values from outside of the loop live on through all rounds: no operation ends them.
        for value in (value for value in op.operands if value in makers or value in arguments):
            reading = {(each, *each.parents)[0 if len(each.parents) == depth else depth + 1] for each in readers[value]}
            if not reading & waiting:
                order.insert(first, order.pop(now))
                break
    return order


def loops(text: str) -> Iterator[tuple[Sequence[Op], list[Op]]]:
    """The bodies of crowded loops, and the order that they should have where it is another one."""
    ops = [op for op in parse(text) if isinstance(op, Op)]
    readers: dict[str, list[Op]] = defaultdict(list)
    bodies: dict[Op, list[Op]] = defaultdict(list)
    for op in ops:
        for value in op.operands:
            readers[value].append(op)
        if op.parents and op.parents[-1].code == "scf.for":
            bodies[op.parents[-1]].append(op)
    whole = _MODULE_WARPS.search(text)
    # Inner loops first: they only change places inside of themselves.
    for loop, body in sorted(bodies.items(), key=lambda each: -len(each[0].parents)):
        told = [
            found for parent in loop.parents if parent.code == "partition" and (found := _WARPS.search(parent.text))
        ]
        warps = int(told[-1][1]) if told else int(whole[1]) if whole else 4
        if crowded(body, warps) and (order := ordered(body, readers)) != body:
            yield body, order


def moved(text: str) -> str:
    """The printed module with the updates where they belong."""
    lines = text.splitlines()
    for body, order in loops(text):
        # An operation takes the lines of its regions along.
        starts = [op.line for op in body]
        spans = dict(zip(body, zip(starts, [*starts[1:], starts[-1] + 1], strict=True), strict=True))
        lines[starts[0] : starts[-1] + 1] = [line for op in order for line in lines[slice(*spans[op])]]
    return "\n".join(lines)
