"""What measured times say of the work that was reckoned, and which of them cannot be.

Work is told by sizes. Where data decide how much is done, as lengths and tables of rows do, it is an upper bound, and
the source itself ends before its floor: then there is no floor to tell. Where only another contender is that fast, its
time is in doubt.
"""

from __future__ import annotations

import dataclasses

from .report import Row
from .roofline import Ceilings
from .work import Work

#: Times the measured ceilings that a source reaches at most: the product of one size does not show the best of all.
REACHED = 1.1
#: Times them that nothing is believed to reach.
BELIEVED = 1.25


def judged(row: Row, work: Work, limits: Ceilings) -> Row:
    """The row of a measured launch, without work that its source cannot have done, and with what is in doubt."""
    source = row.ms["source"].median * 1e3
    flops, moved = work.flops, work.bytes
    if flops is not None and limits.floor(dataclasses.replace(work, bytes=0.0)) > REACHED * source:
        flops = None
    if limits.floor(dataclasses.replace(work, flops=None)) > REACHED * source:
        moved = 0.0
    left = dataclasses.replace(work, flops=flops, bytes=moved)
    floor = limits.floor(left) / 1e3 or None
    row = dataclasses.replace(row, flops=flops, bytes=moved or None, floor=floor)
    doubts = [
        f"{who} takes {row.ms[who].median:.4g} ms, but the ceilings of this machine allow no less than {floor:.4g} ms: "
        "it does less than the source, or its time is wrong"
        for who in row.ms
        if who != "source" and floor is not None and floor > BELIEVED * row.ms[who].median
    ]
    return dataclasses.replace(row, doubts=(*row.doubts, *doubts))
