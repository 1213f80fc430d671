"""A buffer or a barrier that is chosen at run time, which the passes of older releases cannot have.

They end with a bare failure, long after anybody knows of a line. One allocation with a number that is chosen says the
same, and works everywhere.
"""

from __future__ import annotations

from . import irtext, versions
from .irtext import Op, Places

#: a choice, as it is folded or as it was written
_CHOICES, _BUFFER = ("arith.select", "scf.if"), "!ttg.memdesc<"


def check(text: str) -> None:
    """Refuses a folded module that chooses between allocations.

    Raises:
        TLXError: at the choice.
    """
    if versions.BUFFERS_ARE_CHOSEN or _BUFFER not in text or not any(choice in text for choice in _CHOICES):
        return
    ops = [op for op in irtext.parsed(text) if isinstance(op, Op)]
    places = Places(text)
    for op in ops:
        if op.code in _CHOICES and op.results and _BUFFER in op.text:
            # Where a branch is printed over several lines, what uses its result has a place.
            users = (user for user in ops if op.results[0] in user.operands)
            raise irtext.refuse(
                next(filter(None, map(places.of, (op, *users))), None),
                "which of two allocations is used here is chosen at run time: Triton before "
                f"{versions.BUFFERS_CHOSEN_SINCE} cannot compile that; allocate both at once and choose the number, "
                "bars = tlx.alloc_barriers(2) and bars[i]",
            )
