"""Where the elements of a tensor lie."""

from __future__ import annotations

from .cases import Layout


def strides_of(layout: Layout, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in elements of a layout."""
    order = list(range(len(shape)))
    if layout in ("columns", "padded-columns") and len(shape) >= 2:
        order[-2:] = order[-1], order[-2]
    strides, step = [0] * len(shape), 1
    for position, axis in enumerate(reversed(order)):
        strides[axis] = step
        step *= max(1, shape[axis])
        if position == 0 and layout in ("padded", "padded-columns") and len(shape) >= 2:
            unit = max(1, 32 // itemsize)
            step = (-(-step // unit) + 1) * unit
    return tuple(strides)
