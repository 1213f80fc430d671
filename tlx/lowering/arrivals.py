"""Arrivals of every thread at a warp barrier become the one instruction that they are.

Why: Triton's operations know arrivals of one thread for all, after a barrier of the task, and arrivals of every thread
when its cp.async copies are done. The latter stand for ours until here, with a fence, since they order nothing else.
``mbarrier.arrive`` releases what the thread did before by itself, and sooner.

Before: ``fence.acq_rel.cta; async_copy_mbarrier_arrive %bar {noIncrement}``.

After: ``mbarrier.arrive.shared::cta.b64 _, [%bar]``, on the address that the view of the barrier is lowered to.

Not when: the barrier is not one of those that the task got from outside. Triton does not see what assembly does to a
barrier; of one that is made and used in the same place it must, to keep the threads apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .irtext import BlockArguments, Op, parse

FENCE = "fence.acq_rel.cta;"
_ARRIVAL = re.compile(
    r"^ttng\.async_copy_mbarrier_arrive (?P<bar>%[\w$.#-]+) \{noIncrement\} : (?P<type>!ttg\.memdesc<.*?>)"
    r"(?P<place> loc\(\S+\))?$"
)
#: what a view of barriers in shared memory is lowered to: its address, and an offset that is not needed
_VIEW = "!llvm.struct<(ptr<3>, i32)>"


def captured(text: str) -> Iterator[tuple[Op, Op | None]]:
    """Arrivals at barriers from outside of the task, each with the fence in front of it."""
    makers: dict[str, Op] = {}
    given: set[str] = set()
    fence: Op | None = None
    for op in parse(text):
        if isinstance(op, BlockArguments):
            if op.owner.code.startswith("ttg.warp_specialize"):
                given |= set(op.names)
            continue
        makers |= dict.fromkeys(op.results, op)
        if op.code == "tt.elementwise_inline_asm" and FENCE in op.text:
            fence = op
        elif _ARRIVAL.match(op.text):
            tasks = [parent for parent in op.parents if parent.code == "partition"]
            root = op.operands[0]
            while (made := makers.get(root)) is not None and made.code == "ttg.memdesc_index":
                root = made.operands[0]
            outside = made is not None and made.code == "ttg.local_alloc" and tasks and tasks[-1] not in made.parents
            if tasks and (root in given or outside):
                yield op, fence if fence is not None and fence.parents == op.parents else None
            fence = None
        elif op.code not in ("ttg.memdesc_index", "arith.constant"):
            fence = None


def exact(text: str) -> str:
    """The printed module with these arrivals as assembly."""
    lines: list[str | None] = list(text.splitlines())
    for number, (op, fence) in enumerate(captured(text)):
        found = _ARRIVAL.match(op.text)
        if found is None:
            continue
        place, view, address = found["place"] or "", f"%tlx_view_{number}", f"%tlx_address_{number}"
        lines[op.line] = (
            f"{view} = builtin.unrealized_conversion_cast {found['bar']} : {found['type']} to {_VIEW}{place}\n"
            f"{address} = llvm.extractvalue {view}[0] : {_VIEW}{place}\n"
            'llvm.inline_asm has_side_effects "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}" '
            f"{address} : (!llvm.ptr<3>) -> (){place}"
        )
        if fence is not None:
            lines[fence.line] = None
    return "\n".join(line for line in lines if line is not None)
