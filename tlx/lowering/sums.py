"""Sums of long rows on Blackwell, one addition at a time.

Newer Tritons add fp32 values of a thread in pairs, since Blackwell has an instruction for that. A pair must lie in two
neighbouring registers. Where a thread holds a whole row of scores, as softmax on tensor memory does, the pairs compete
with those that conversions and stores want: in attention with 152 registers the moves between them outnumber the
additions saved, and 49 values a turn go to local memory. Triton recognises the sums it packs by a combination that is a
single addition; the one here is the same sum in two operations, which LLVM turns back into one.
"""

from __future__ import annotations

import math
from typing import Any

import triton
import triton.language as tl
from triton.language import standard

from .state import current, threads_per_warp

#: elements in a thread's part of the block
_LONG = 128


@triton.jit  # type: ignore[untyped-decorator]
def plus(a: tl.tensor, b: tl.tensor) -> tl.tensor:
    """The sum of two scalars, to the bit."""
    return a - b * -1.0


def are_long(inputs: list[Any], warps: int) -> bool:
    """Whether these blocks are rows of fp32 that a sum should not take in pairs."""
    if not current().is_blackwell or len(inputs) != 1 or inputs[0].dtype != tl.float32:
        return False
    elements = math.prod(int(extent) for extent in inputs[0].type.shape)
    return elements // (threads_per_warp() * warps) >= _LONG


def combination(function: Any) -> Any:
    """What stands for ``function`` where a reduction of long rows combines two elements."""
    return plus if function is standard._sum_combine else function
