"""A captured launch made small enough to simulate, so that it still tells what the large one would.

Kept are the remainders of sizes modulo their tiles, which decide what is masked; enough trips to fill and reuse every
stage of the rings; the order of strides and their remainders modulo the TMA's alignment, which decide which kernel
runs; element types, flags, warps and stages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ..bench.itemsize import itemsize
from ..bench.sizes import sizes_of
from ..contract import Contract, extent_of, settled
from ..verify.cases import Case
from ..verify.sizing import stages_of
from .replay import has_own_grid, trips_of

#: Whole tiles along a size that counts tiles of the result, besides the ragged one; things of a batch.
TILES, BATCH = 1, 2
#: Strides keep their remainder modulo so many bytes.
STEP = 128
#: Multiply-adds that are simulated without making them fewer.
AFFORDABLE = 1 << 24


def scaled(contract: Contract, case: Case) -> Case | None:
    """The case as it is if it is small, else a small one that stands for it; None if there is none.

    There is none where the program chose a grid that does not follow from sizes: no smaller one is known to be right.
    """
    if _cost(contract, case) <= AFFORDABLE:
        return case
    if has_own_grid(contract):
        return None
    constants = case.constants(contract)
    values = dict(case.values)
    known = {**values, **constants}
    counted = set()
    for size, tile in contract.tiled:
        _shorten(values, known, size, tile, TILES)
        counted.add(size)
    if contract.contracted is not None:
        size, tile = contract.contracted
        _shorten(values, known, size, tile, 2 * stages_of(contract, case.config) + 1)
        counted.add(size)
    tiles = {spec.name for spec in contract.constexprs if spec.kind == "tile"}
    tied = " ".join(expression for _, expression in contract.computed)
    for name in (*contract.free_sizes, *(s.name for s in contract.scalars if s.kind == "size")):
        value = values.get(name)
        whole = name in counted or name in tiles or name in tied or _shapes_a_tile(contract, name)
        if isinstance(value, int) and value > BATCH and not whole:
            values[name] = BATCH
    small = replace(case, values=tuple(values.items()))
    small = replace(small, values=tuple(_strides(contract, case, small).items()))
    return replace(small, name=f"{case.name}, scaled down", trips=trips_of(contract, small))


def _shorten(values: dict[str, object], known: Mapping[str, object], size: str, tile: str, tiles: int) -> None:
    """At most so many whole tiles, and the same remainder."""
    length, extent = values.get(size), extent_of(tile, known)
    if isinstance(length, int) and extent is not None and extent > 0:
        rest = length % extent
        values[size] = min(length, tiles * extent + rest)


def _shapes_a_tile(contract: Contract, name: str) -> bool:
    """Whether a tensor's contiguous axis is so long: a head dimension is part of the tile, not of a batch."""
    return any(spec.shape and spec.shape[-1] == name for spec in contract.tensors)


def _strides(contract: Contract, case: Case, small: Case) -> dict[str, object]:
    """The small case's values with strides of its own: in the order of the captured ones, with their remainders."""
    values = dict(small.values)
    names = {scalar.name for scalar in contract.scalars if scalar.kind == "stride" and scalar.name in values}
    if not names:
        return values
    large, little = sizes_of(contract, case), sizes_of(contract, small)
    for spec in contract.tensors:
        before = next(tensor for tensor in large.tensors if tensor.spec is spec)
        after = next(tensor for tensor in little.tensors if tensor.spec is spec)
        step = max(1, STEP // itemsize(before.dtype))
        order = sorted(range(len(spec.shape)), key=lambda axis: (before.strides[axis], before.shape[axis]))
        reach = 1
        for axis in order:
            stride, name = before.strides[axis], settled(spec.strides[axis], {**values, **little.known})
            if name in names and stride > 0:
                least = reach + (stride - reach) % step
                values[name] = min(stride, least)
            used = values.get(name, after.strides[axis])
            reach = max(reach, int(used) * after.shape[axis]) if isinstance(used, int) else reach
    return values


def _cost(contract: Contract, case: Case) -> float:
    """Tiles × trips × the larger tiles: what simulating costs grows with it."""
    sizes = sizes_of(contract, case)
    known = [
        value
        for spec in contract.constexprs
        if spec.kind == "tile" and isinstance(value := sizes.known.get(spec.name), int)
    ]
    volume = math.prod(sorted(known)[-3:]) if known else 1
    # A few programs may share out many tiles.
    tiles = 1
    for size, tile in contract.tiled:
        length, extent = sizes.known.get(size), sizes.known.get(tile)
        if isinstance(length, int) and isinstance(extent, int) and extent > 0:
            tiles *= max(1, math.ceil(length / extent))
    return float(max(math.prod(sizes.grid), tiles)) * (case.trips or 1) * volume
