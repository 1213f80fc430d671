"""Where the elements of a tensor lie."""

from __future__ import annotations

from ..contract import BYTE_DTYPES, Contract
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


def usual_layouts(contract: Contract, dtype: int, *, padded: bool) -> tuple[tuple[str, Layout], ...]:
    """The layout of each tensor that the TMA and the tensor cores can read: row by row, unless 8-bit elements must lie
    along another axis. `dtype` is a position in `TensorSpec.dtypes`.
    """
    found: list[tuple[str, Layout]] = []
    for tensor in contract.tensors:
        narrow = tensor.dtypes[min(dtype, len(tensor.dtypes) - 1)] in BYTE_DTYPES
        columns = narrow and tensor.deep is not None and tensor.deep == len(tensor.shape) - 2
        if padded:
            found.append((tensor.name, "padded-columns" if columns else "padded"))
        elif columns:
            found.append((tensor.name, "columns"))
    return tuple(found)
