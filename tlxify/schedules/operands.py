"""The dtypes that a dot's operands may have at a launch, and how views of 8-bit ones must lie.

A wgmma of 16-bit types reads a slot in either order. One of 8-bit types reads both operands along the contracted axis
alone, so that axis must be the contiguous one; a first operand from registers is left to 16-bit types.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..facts import Facts
from ..plan import Buffer, DotStep, Operands, View
from ..targets import Target


def operands_of(facts: Facts, target: Target, buffers: Iterable[Buffer], step: DotStep) -> Operands:
    """What a launch must hold to for one dot."""
    by_name = {buffer.name: buffer for buffer in buffers}
    dot = next(dot for dot in facts.dots if dot.span == step.span)
    sides = [
        (by_name[side.buffer], side.transposed, first)
        for side, first in ((step.a, True), (step.b, False))
        if side.buffer in by_name  # what a role has written is of the dtype that the other operand has
    ]
    parameters = tuple(dict.fromkeys(buffer.view.parameter for buffer, _, _ in sides))
    # Of a tile (rows, depth) the depth is contiguous as it is; of (depth, columns), where the view swaps the two.
    along = [(buffer.view, first == transposed) for buffer, transposed, first in sides]
    deep = len(sides) == 2 and all(_may_be(view, swapped) for view, swapped in along)
    allowed = [dtype for dtype in target.dot_dtypes if deep or dtype not in target.deep_dtypes]
    dtypes = tuple(dtype for dtype in allowed if dtype in dot.dtypes)
    if not any(dtype in target.deep_dtypes for dtype in dtypes):
        return Operands(parameters, dtypes)
    return Operands(parameters, dtypes, tuple((view.descriptor, swapped) for view, swapped in along if view.flag))


def _may_be(view: View, swapped: bool) -> bool:
    """Whether a view can lie so that its last axis is the contiguous one, or if `swapped` the one before."""
    if view.copied is not None:
        return view.copied.swapped == swapped
    return view.flag is not None or not swapped
