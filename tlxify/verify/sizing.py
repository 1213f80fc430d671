"""Launches of a contract by their sizes: one to begin with, and the same with other sizes or tiles."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..contract import BYTE_DTYPES, Contract, cdiv, complete, extent_of, flags_in, settled
from .cases import Case
from .layouts import usual_layouts

#: Tiles for simulation: the least that `tl.dot` takes; twice as many rows, so that two consumer groups can share them.
SMALL_TILE = 16
SMALL_ROWS = 32
#: Elements of 8 bits in the 16 bytes that the TMA steps by.
ALIGNED_SIZE = 16
#: Rows that indices pick from, at least.
PICKED = 5


def small_tiles(contract: Contract, config: int) -> tuple[tuple[str, int], ...]:
    """Tiles for quick simulation, never larger than the config's, rows and columns different where they can be."""
    constants = dict(contract.configs[config].values)
    rows = {tile for _, tile in contract.tiled[:1]}
    # Where rows lie as far apart as they are long, the TMA takes whole 16 elements: half of such a tile is the least.
    rows |= {tile for size, tile in contract.covered if size in contract.aligned}
    tiles = {}
    for tile in _tiles(contract):
        own = constants.get(tile)
        if isinstance(own, int) and not isinstance(own, bool):
            tiles[tile] = min(own, SMALL_ROWS if tile in rows else SMALL_TILE)
    return tuple(tiles.items())


def stages_of(contract: Contract, config: int) -> int:
    """Ring depth that a config asks for."""
    return max(2, contract.configs[config].num_stages)


def _tiles(contract: Contract) -> list[str]:
    named = [tile for _, tile in contract.tiled]
    if contract.contracted is not None:
        of = contract.contracted[1]
        named += [of] if of.isidentifier() else []  # else a step of several tiles: they are among the constexprs
    return list(dict.fromkeys([*named, *(spec.name for spec in contract.constexprs if spec.kind == "tile")]))


def tile_extent(constants: dict[str, object], tile: str) -> int:
    """Elements along one axis of a tile, or of a step of the loop."""
    extent = extent_of(tile, constants)
    return SMALL_TILE if extent is None else extent


def base_case(contract: Contract, index: int, *, small: bool = True) -> Case:
    """Two tiles along each tiled size (the last one ragged), two trips, padded rows, first options."""
    tiles = small_tiles(contract, index) if small else ()
    if small:  # what a call sets beside the config's tiles
        named = {*dict(contract.configs[index].values), *(name for name, _ in contract.computed)}
        extra = [spec.name for spec in contract.constexprs if spec.kind == "tile" and spec.name not in named]
        tiles = (*tiles, *((name, SMALL_TILE) for name in extra))
    case = Case("base", index, (), tiles)
    constants = case.constants(contract)
    values: dict[str, object] = {}
    for scalar in contract.scalars:
        if scalar.kind == "stride":
            continue
        values[scalar.name] = scalar.choices[0] if scalar.choices else 1.0 if scalar.kind == "float" else 2
        if scalar.kind == "size" and scalar.name in _chunks(contract):
            values[scalar.name] = 2 * SMALL_TILE
    values |= {size: PICKED if size.startswith("count_") else 2 for size in contract.free_sizes}
    for spec in contract.constexprs:
        if spec.name not in constants and spec.kind != "dtype":
            values[spec.name] = spec.choices[0] if spec.choices else None
    for size, tile in contract.tiled:
        extent = tile_extent(constants, tile)
        values[size] = 2 * extent - 3
    values |= {size: tile_extent(constants, tile) for size, tile in contract.covered}
    trips = None
    if contract.contracted is not None:
        size, tile = contract.contracted
        trips = 2
        values[size] = trips * tile_extent(constants, tile)
    layouts = usual_layouts(contract, 0, padded=True)
    case = replace(case, values=tuple(values.items()), layouts=layouts, path="specialized", trips=trips)
    return lying_deep(contract, with_sizes(case, contract))


def lying_deep(contract: Contract, case: Case) -> Case:
    """The case with flags under which 8-bit operands lie along the axis that dots contract, as they must.

    As it is where they do already, or no flag can bring it about.
    """
    fixed = case.constants(contract)
    asked = [
        tensor.strides[tensor.deep]
        for tensor in contract.tensors
        if tensor.deep is not None and contract.dtype_of(tensor, case.dtype) in BYTE_DTYPES and flags_in(tensor.strides)
    ]
    for laid in (case, *layings(contract, case)) if asked else ():
        if all(settled(stride, {**dict(laid.values), **fixed}) == "1" for stride in asked):
            return laid
    return case


def layings(contract: Contract, case: Case) -> Iterator[Case]:
    """The case with every choice of the flags that decide how tensors lie, but for those that its config sets."""
    fixed = case.constants(contract)
    free = [spec for spec in contract.laying if spec.name not in fixed]
    for choices in itertools.product(*(spec.choices for spec in free)):
        values = {**dict(case.values), **dict(zip((spec.name for spec in free), choices, strict=True))}
        yield replace(case, values=tuple(values.items()))


def _chunks(contract: Contract) -> set[str]:
    """Sizes that tiles are cut out of: no smaller than a tile."""
    tiles = {spec.name for spec in contract.constexprs if spec.kind == "tile"}
    cut = [expression for name, expression in contract.computed if name in tiles]
    return {n.id for text in cut for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}


def _whole(contract: Contract, constants: dict[str, object], values: dict[str, object]) -> dict[str, object]:
    """The values inside the contract's bounds, with sizes that the kernel does not mask rounded up to whole tiles.

    Other launches are not valid. Sizes that are strides are rounded up as well: other launches are the original's.
    """
    for size, low, high in contract.bounds:
        if isinstance(length := values.get(size), int) and length > 0:
            values[size] = max(low, length if high is None else min(length, high))
    # A tile that neither the config nor the call names is as small as any.
    steps = [
        (size, tile_extent({**values, **constants}, tile)) for size, tile in (*contract.multiples, *contract.whole)
    ]
    for size, step in [*steps, *((size, ALIGNED_SIZE) for size in contract.aligned)]:
        length = values.get(size)
        if isinstance(length, int) and step > 0:
            high = next((high for name, _, high in contract.bounds if name == size), None)
            whole = cdiv(length, step) * step
            values[size] = whole if high is None or whole <= high else high // step * step
    return values


def with_sizes(case: Case, contract: Contract, **sizes: int) -> Case:
    """The case with other sizes, as near to them as the contract allows, and its trips recounted."""
    values = _whole(contract, case.constants(contract), {**dict(case.values), **sizes})
    trips = case.trips
    if contract.contracted is not None:
        size, tile = contract.contracted
        length = values.get(size)
        if isinstance(length, int):
            trips = cdiv(length, tile_extent(case.constants(contract), tile))
    return told(contract, replace(case, values=tuple(values.items()), trips=trips))


def told(contract: Contract, case: Case) -> Case:
    """The case with the values of parameters that follow from others: what is printed is what is launched."""
    following = dict(contract.computed)
    known = {name: value for name, value in case.values if name not in following} | case.constants(contract)
    complete(contract, known)
    values = tuple((name, known.get(name, value) if name in following else value) for name, value in case.values)
    return replace(case, values=values)


def sibling_depths(contract: Contract) -> list[tuple[str, str]]:
    """Sizes that count trips of other dot loops than `contract.contracted` does, with the tiles: no result has them."""
    if contract.contracted is None:
        return []
    shapes = " ".join(extent for tensor in contract.tensors if tensor.writes for extent in tensor.shape)
    return [pair for pair in contract.tiled if pair[0] not in re.findall(r"\w+", shapes)]


def counting(contract: Contract) -> list[str]:
    """Sizes of which a launch has more programs the larger they are, other than those that one tile covers."""
    covered = {size for size, _ in contract.covered}
    sizes = {*(scalar.name for scalar in contract.scalars if scalar.kind == "size"), *contract.free_sizes} - covered
    computed = dict(contract.computed)
    named, pending = set[str](), list(contract.grid)
    while pending:
        for name in re.findall(r"[A-Za-z_]\w*", pending.pop()):
            if name not in named:
                named.add(name)
                pending += [computed[name]] if name in computed else []
    return sorted((sizes & named) - computed.keys())


def full_size_case(contract: Contract, index: int, *, odd: bool = False, tiles: int = 32, trips: int = 64) -> Case:
    """A launch as large as real ones, with the config's own tiles.

    Sizes are multiples of the tiles; if `odd`, no size of the result is a multiple of anything.
    """
    base = base_case(contract, index, small=False)
    constants = base.constants(contract)
    sizes = {size: tiles * tile_extent(constants, tile) - (3 if odd else 0) for size, tile in contract.tiled}
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = trips * tile_extent(constants, tile) - (8 if odd else 0)
    layouts = usual_layouts(contract, 0, padded=odd)
    return lying_deep(contract, with_sizes(replace(base, name="full size", layouts=layouts), contract, **sizes))


def own_tiles(contract: Contract, case: Case) -> Case:
    """The case with the config's own tiles: as many of them along each size, with as much left over."""
    return with_sizes(in_tiles_of(contract, case, dict(contract.configs[case.config].values)), contract)


def in_tiles_of(contract: Contract, case: Case, own: Mapping[str, object]) -> Case:
    """The case, whose sizes were counted in its small tiles, with as many of the `own` ones and as much left over."""
    small, values = dict(case.tiles), dict(case.values)
    for size, tile in (*contract.counted, *contract.covered):
        value, step, full = values.get(size), extent_of(tile, {**own, **small}), extent_of(tile, own)
        if isinstance(value, int) and step and full:
            tiles = (value + step // 2) // step
            values[size] = max(0, tiles * full + value - tiles * step)
    return replace(case, tiles=(), values=tuple(values.items()))
