"""Where the elements of a tensor lie."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping

from ..contract import ANY_STRIDE, BYTE_DTYPES, Contract, TensorSpec, evaluate, flags_in, settled
from .cases import Layout

#: Elements of which Triton is told that a stride is a multiple: threads copy such rows 16 bytes at a time.
ASKED = 16


def strides_of(layout: Layout, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in elements of a layout."""
    order = list(range(len(shape)))
    if layout in ("columns", "padded-columns") and len(shape) >= 2:
        order[-2:] = order[-1], order[-2]
    padded = layout in ("padded", "padded-columns")
    # The elements of a vector lie apart where a parameter says how far, and each matrix of a batch ends in a gap.
    strides, step = [0] * len(shape), 2 if padded and len(shape) == 1 else 1
    for position, axis in enumerate(reversed(order)):
        strides[axis] = step
        step *= max(1, shape[axis])
        if position == 0 and padded and len(shape) >= 2:
            unit = max(ASKED, 32 // itemsize)
            step = (-(-step // unit) + 1) * unit
        elif position > 0 and padded:
            step += strides[axis]
    return tuple(strides)


def wanted_strides(
    spec: TensorSpec, layout: Layout, shape: tuple[int, ...], itemsize: int, known: Mapping[str, object]
) -> tuple[int, ...]:
    """Strides in elements of a layout of one tensor; where a flag says which axis is contiguous, that is the last.

    Raises:
        ContractFault: nothing says what the flag is.
    """
    held = [settled(stride, known) for stride in spec.strides]
    last = held.index("1") if held.count("1") == 1 and flags_in(spec.strides) else len(held) - 1
    order = [*(axis for axis in range(len(held)) if axis != last), last] if held else []
    strides = strides_of(layout, tuple(shape[axis] for axis in order), itemsize)
    return tuple(strides[order.index(axis)] for axis in range(len(held)))


def settle_unused(known: MutableMapping[str, object], chosen: Iterable[str]) -> None:
    """Strides that no tensor has where flags are as they are: any number does for them."""
    for name in chosen:
        known.setdefault(name, 1)


def extents_of(spec: TensorSpec, known: MutableMapping[str, object]) -> tuple[int, ...]:
    """How long each axis is; none is less than nothing, where a size is 0 and its last tile would lie before the first.

    Raises:
        ContractFault: an expression of the contract has no value.
    """
    return tuple(max(0, evaluate(extent, known)) for extent in spec.shape)


def settled_strides(
    spec: TensorSpec, wanted: tuple[int, ...], known: MutableMapping[str, object], chosen: Collection[str]
) -> tuple[int, ...]:
    """The strides that the contract gives a tensor, those that a launch may choose or that no name holds as `wanted`.

    Args:
        known: values by name; strides that are settled here are added.
        chosen: names of the strides that a launch chooses.

    Raises:
        ContractFault: an expression of the contract has no value.
    """
    strides = [settled(stride, known) for stride in spec.strides]
    for expression, stride in zip(strides, wanted, strict=True):
        if expression in chosen:
            known.setdefault(expression, stride)
    pairs = zip(strides, wanted, strict=True)
    return tuple(stride if text == ANY_STRIDE else evaluate(text, known) for text, stride in pairs)


def usual_layouts(contract: Contract, dtype: int, *, padded: bool) -> tuple[tuple[str, Layout], ...]:
    """The layout of each tensor that the TMA and the tensor cores can read: row by row, unless 8-bit elements must lie
    along another axis. `dtype` is a position in `TensorSpec.dtypes`.
    """
    found: list[tuple[str, Layout]] = []
    for tensor in contract.tensors:
        narrow = contract.dtype_of(tensor, dtype) in BYTE_DTYPES
        # Where flags say which axis is contiguous, they say it of rows (`sizing.lying_deep` sees to them).
        fixed = not flags_in(tensor.strides)
        columns = narrow and fixed and tensor.deep is not None and tensor.deep == len(tensor.shape) - 2
        if padded:
            found.append((tensor.name, "padded-columns" if columns else "padded"))
        elif columns:
            found.append((tensor.name, "columns"))
    return tuple(found)
