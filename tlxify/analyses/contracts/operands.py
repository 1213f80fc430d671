"""What a dot's operands may be: their dtypes, and the axis along which 8-bit ones must lie."""

from __future__ import annotations

from ...contract import BYTE_DTYPES, FLOAT16_DTYPES
from ...facts import AxisId, DotOperand, Facts


def depths(facts: Facts) -> frozenset[AxisId]:
    """The axes that dots contract, of operands which have one such axis."""
    sides = (depth_of(facts, side) for dot in facts.dots for side in (dot.a, dot.b))
    return frozenset(axis for axis in sides if axis is not None)


def dtypes_of(facts: Facts, pointer: str) -> tuple[str, ...]:
    """The dtypes of a tensor in launches of the kernel, most usual first: those of all dots that multiply it."""
    dtypes: tuple[str, ...] | None = None
    for dot in facts.dots:
        sides = [side for side in (dot.a, dot.b) if pointer_of(facts, side) == pointer]
        if not sides:
            continue
        apart = any(pointer_of(facts, side) is None or depth_of(facts, side) is None for side in (dot.a, dot.b))
        allowed = [dtype for dtype in dot.dtypes if not apart or dtype not in BYTE_DTYPES]
        dtypes = tuple(dtype for dtype in allowed if dtypes is None or dtype in dtypes)
    return dtypes or FLOAT16_DTYPES


def depth_of(facts: Facts, side: DotOperand) -> AxisId | None:
    """The axis of a loaded operand that dots contract; None if that is both of them, or another at each dot."""
    contracted = [axis for axis in side.axes if axis is not None and facts.axis(axis).contracted]
    return contracted[0] if side.load is not None and len(contracted) == 1 else None


def fed(facts: Facts) -> frozenset[str | None]:
    """The parameters whose tiles dots multiply as they are loaded."""
    return frozenset(pointer_of(facts, side) for dot in facts.dots for side in (dot.a, dot.b))


def pointer_of(facts: Facts, side: DotOperand) -> str | None:
    """The parameter that an operand is loaded from; None if it is computed."""
    return facts.loads[side.load].pointer if side.load is not None else None
