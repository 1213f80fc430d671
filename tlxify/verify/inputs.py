"""Launches from the contract: the edge cases that every kernel is tried on, and a strategy that draws more."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..contract import Contract, TensorSpec, cdiv
from .cases import ALL_SCHEDULES, FEW_SCHEDULES, ONE_SCHEDULE, Case, Data, Layout, Path
from .layouts import usual_layouts

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Tiles for simulation: the least that `tl.dot` takes; twice as many rows, so that two consumer groups can share them.
SMALL_TILE = 16
SMALL_ROWS = 32
#: Elements of 8 bits in the 16 bytes that the TMA steps by.
ALIGNED_SIZE = 16


def small_tiles(contract: Contract, config: int) -> tuple[tuple[str, int], ...]:
    """Tiles for quick simulation, never larger than the config's, rows and columns different where they can be."""
    constants = dict(contract.configs[config].values)
    rows = {tile for _, tile in contract.tiled[:1]}
    tiles = {}
    for tile in _tiles(contract):
        own = constants.get(tile)
        if isinstance(own, int) and not isinstance(own, bool):
            tiles[tile] = min(own, SMALL_ROWS if tile in rows else SMALL_TILE)
    return tuple(tiles.items())


def stages_of(contract: Contract, config: int) -> int:
    """Ring depth that a config asks for."""
    return max(2, contract.configs[config].num_stages)


def edge_cases(contract: Contract) -> tuple[Case, ...]:
    """The launches that are always tried, cheapest kinds of trouble first.

    Every config runs once with its own tiles; the first config of each combination of warps and stages runs all trip
    counts with small ones, and the first of all every size, layout, dtype, option and kind of data.
    """
    seen: set[tuple[int, int]] = set()
    cases: list[Case] = []
    for index, config in enumerate(contract.configs):
        shape = (config.num_warps, config.num_stages)
        if shape not in seen:
            cases += _trips(contract, index, thorough=not seen)
        seen.add(shape)
    cases += _sizes(contract)
    cases += _layouts(contract)
    cases += _data(contract)
    cases += _options(contract)
    cases += _fallbacks(contract)
    cases += [_own_tiles(contract, index) for index in range(len(contract.configs))]
    return tuple(cases)


def draw_cases(contract: Contract) -> SearchStrategy[Case]:
    """Launches drawn at random: config, trips, ragged ends, layouts, dtype, data and schedule; they shrink towards the
    first config, one tile and the late schedule.
    """
    from hypothesis import strategies as st

    @st.composite
    def case(draw: Any) -> Case:
        index = draw(st.integers(0, len(contract.configs) - 1))
        base = _base(contract, index)
        sizes = dict(base.values)
        constants = base.constants(contract)
        trips = draw(st.integers(1, 2 * stages_of(contract, index) + 2)) if contract.contracted else None
        if contract.contracted and trips is not None:
            size, tile = contract.contracted
            extent = _extent(constants, tile)
            sizes[size] = trips * extent - draw(st.integers(0, extent - 1))
        for size, tile in contract.tiled:
            sizes[size] = draw(st.integers(1, 2 * _extent(constants, tile) + 1))
        layouts: list[tuple[str, Layout]] = [
            (tensor.name, draw(st.sampled_from(("padded", "padded-columns", "rows", "padded", "columns"))))
            for tensor in contract.tensors
        ]
        data: Data = draw(st.sampled_from(("normal", "ones", "special", "large")))
        return replace(
            base,
            name="drawn",
            values=tuple(_whole(contract, constants, sizes).items()),
            layouts=tuple(layouts),
            dtype=draw(st.integers(0, 1)),
            data=data,
            path="any",
            schedules=(draw(st.sampled_from(ALL_SCHEDULES)),),
            trips=trips,
        )

    return case()


def full_size_case(contract: Contract, index: int, *, odd: bool = False, tiles: int = 32, trips: int = 64) -> Case:
    """A launch as large as real ones, with the config's own tiles.

    Sizes are multiples of the tiles; if `odd`, no size of the result is a multiple of anything.
    """
    base = _base(contract, index, small=False)
    constants = base.constants(contract)
    sizes = {size: tiles * _extent(constants, tile) - (3 if odd else 0) for size, tile in contract.tiled}
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = trips * _extent(constants, tile) - (8 if odd else 0)
    layouts = usual_layouts(contract, 0, padded=odd)
    return _with(replace(base, name="full size", layouts=layouts), contract, **sizes)


def _tiles(contract: Contract) -> list[str]:
    named = [tile for _, tile in contract.tiled]
    if contract.contracted is not None:
        named.append(contract.contracted[1])
    return list(dict.fromkeys([*named, *(spec.name for spec in contract.constexprs if spec.kind == "tile")]))


def _extent(constants: dict[str, object], tile: str) -> int:
    extent = constants.get(tile, SMALL_TILE)
    return extent if isinstance(extent, int) else SMALL_TILE


def _base(contract: Contract, index: int, *, small: bool = True) -> Case:
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
    values |= dict.fromkeys(contract.free_sizes, 2)
    for spec in contract.constexprs:
        if spec.name not in constants and spec.kind != "dtype":
            values[spec.name] = spec.choices[0] if spec.choices else None
    for size, tile in contract.tiled:
        extent = _extent(constants, tile)
        values[size] = 2 * extent - 3
    trips = None
    if contract.contracted is not None:
        size, tile = contract.contracted
        trips = 2
        values[size] = trips * _extent(constants, tile)
    layouts = usual_layouts(contract, 0, padded=True)
    values = _whole(contract, constants, values)
    return replace(case, values=tuple(values.items()), layouts=layouts, path="specialized", trips=trips)


def _chunks(contract: Contract) -> set[str]:
    """Sizes that tiles are cut out of: no smaller than a tile."""
    tiles = {spec.name for spec in contract.constexprs if spec.kind == "tile"}
    cut = [expression for name, expression in contract.computed if name in tiles]
    return {n.id for text in cut for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}


def _whole(contract: Contract, constants: dict[str, object], values: dict[str, object]) -> dict[str, object]:
    """The values, with sizes that the kernel does not mask rounded up to whole tiles: other launches are not valid.

    Sizes that are strides are rounded up as well: other launches are valid, and the original's.
    """
    for size, tile in (*contract.multiples, *contract.whole):
        length, extent = values[size], _extent(constants, tile)
        if isinstance(length, int):
            values[size] = cdiv(length, extent) * extent
    for size in contract.aligned:
        if isinstance(length := values.get(size), int):
            values[size] = cdiv(length, ALIGNED_SIZE) * ALIGNED_SIZE
    return values


def _with(case: Case, contract: Contract, **sizes: int) -> Case:
    """The case with other sizes, and its trips recounted."""
    values = _whole(contract, case.constants(contract), {**dict(case.values), **sizes})
    trips = case.trips
    if contract.contracted is not None:
        size, tile = contract.contracted
        length = values[size]
        if isinstance(length, int):
            trips = cdiv(length, _extent(case.constants(contract), tile))
    return replace(case, values=tuple(values.items()), trips=trips)


def _trips(contract: Contract, index: int, *, thorough: bool) -> Iterator[Case]:
    base, stages = _base(contract, index), stages_of(contract, index)
    if contract.contracted is None:
        yield replace(base, name="two tiles each way", schedules=ALL_SCHEDULES)
        return
    size, tile = contract.contracted
    extent = _extent(base.constants(contract), tile)
    schedules = ALL_SCHEDULES if thorough else FEW_SCHEDULES
    for trips in sorted({1, stages - 1, stages, stages + 1, 2 * stages + 1}):
        case = replace(base, name=f"{trips} trips", schedules=schedules)
        yield _with(case, contract, **{size: trips * extent})
    if not _sizes_a_result(contract, size):
        yield replace(base, name="0 trips behind the guard", schedules=schedules, zeroed=size, trips=0)


def _sizes_a_result(contract: Contract, size: str) -> bool:
    """Whether an output has the size, as attention of a sequence with itself has: with 0 there would be no result."""
    shapes = " ".join(extent for tensor in contract.tensors if tensor.writes for extent in tensor.shape)
    return any(size == other for other, _ in contract.tiled) or size in re.findall(r"\w+", shapes)


def _sizes(contract: Contract) -> Iterator[Case]:
    """Off by one around every tile, and a ragged end of the contracted size."""
    base = _base(contract, 0)
    constants = base.constants(contract)
    steps = ((1, -1), (1, 1), (2, -1), (2, 1), (0, 1))
    for shift in range(len(steps) if contract.tiled else 0):
        sizes = {}
        for number, (size, tile) in enumerate(contract.tiled):
            tiles, more = steps[(shift + 2 * number) % len(steps)]
            sizes[size] = tiles * _extent(constants, tile) + more
        what = ", ".join(f"{size} = {extent}" for size, extent in sizes.items())
        yield _with(replace(base, name=f"sizes {what}", schedules=ALL_SCHEDULES), contract, **sizes)
    if contract.contracted is not None:
        size, tile = contract.contracted
        extent, stages = _extent(constants, tile), stages_of(contract, 0)
        for length in (stages * extent + 1, 2 * stages * extent - 1, extent // 2):
            case = replace(base, name=f"ragged {size}", schedules=ALL_SCHEDULES)
            yield _with(case, contract, **{size: length})


def _layouts(contract: Contract) -> Iterator[Case]:
    """Contiguous and transposed operands, alone and together."""
    base = _base(contract, 0)
    constants = base.constants(contract)
    sizes = {size: 2 * _extent(constants, tile) for size, tile in contract.tiled}
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = (stages_of(contract, 0) + 1) * _extent(constants, tile)
    even = _with(base, contract, **sizes)
    yield replace(even, name="contiguous", layouts=usual_layouts(contract, 0, padded=False))
    wide = [tensor.name for tensor in contract.tensors if len(tensor.shape) >= 2]
    for name in wide:
        transposed: tuple[tuple[str, Layout], ...] = ((name, "columns"),)
        yield replace(even, name=f"{name} transposed", layouts=transposed, path="any", schedules=FEW_SCHEDULES)
    everything: tuple[tuple[str, Layout], ...] = tuple((name, "padded-columns") for name in wide)
    yield replace(even, name="all transposed, padded", layouts=everything, path="any")


def _data(contract: Contract) -> Iterator[Case]:
    base = _base(contract, 0)
    longer = base
    if contract.contracted is not None:
        size, tile = contract.contracted
        length = (stages_of(contract, 0) + 1) * _extent(base.constants(contract), tile)
        longer = _with(base, contract, **{size: length - 1})
    kinds: tuple[Data, ...] = ("ones", "special", "denormal", "large")
    for data in kinds:
        yield replace(longer, name=f"{data} data", data=data)
    for dtype in range(1, max((len(tensor.dtypes) for tensor in contract.tensors), default=1)):
        layouts = usual_layouts(contract, dtype, padded=True)
        yield replace(longer, name=f"dtype {dtype}", dtype=dtype, layouts=layouts, schedules=FEW_SCHEDULES)


def _options(contract: Contract) -> Iterator[Case]:
    """Every choice of every option, flag and number, one at a time; a flag that is set, on sizes of whole tiles too.

    Some flags say that sizes are multiples of tiles: launches that contradict one are the original's.
    """
    base = replace(_base(contract, 0), path="claimed")
    constants = base.constants(contract)
    pairs = (*contract.tiled, *((contract.contracted,) if contract.contracted is not None else ()))
    whole = _with(base, contract, **{size: 2 * _extent(constants, tile) for size, tile in pairs})
    specs: list[tuple[str, tuple[object, ...]]] = [
        (spec.name, spec.choices) for spec in contract.constexprs if spec.says is None
    ]
    specs += [(scalar.name, scalar.choices) for scalar in contract.scalars if scalar.kind != "stride"]
    for name, choices in specs:
        if name in constants:
            continue
        for choice in choices[1:]:
            cases = [(base, f"{name} = {choice!r}")]
            if choice is True and whole.values != base.values:
                cases.append((whole, f"{name} = {choice!r}, whole tiles"))
            for case, what in cases:
                yield replace(case, name=what, values=tuple({**dict(case.values), name: choice}.items()))


def _fallbacks(contract: Contract) -> Iterator[Case]:
    """Launches that the original must take."""
    base = replace(_base(contract, 0), schedules=ONE_SCHEDULE)

    def lying(tensor: TensorSpec, layout: Layout) -> Case:
        layouts = tuple({**dict(base.layouts), tensor.name: layout}.items())
        return replace(base, name=f"{tensor.name} {layout}", layouts=layouts, path="view")

    for tensor in contract.tensors:
        if tensor.reads and tensor.shape:
            yield lying(tensor, "odd")
    if any(tensor.reads and not tensor.writes for tensor in contract.tensors):
        yield from (lying(tensor, "overlap") for tensor in contract.tensors if tensor.writes)
    for size, tile in contract.whole:
        ragged = {**dict(base.values), size: 2 * _extent(base.constants(contract), tile) - 3}
        yield replace(base, name=f"{size} is no multiple of {tile}", values=tuple(ragged.items()), path="original")
    sizes = [size for size, _ in itertools.chain(contract.tiled, [contract.contracted] if contract.contracted else [])]
    for size in sizes:
        # Where the source does not mask an axis, the guard does not know its extent: no trip is then as right as the
        # original.
        unseen = any(size == name for name, _ in contract.multiples)
        path: Path = "any" if unseen else "original"
        yield replace(_with(base, contract, **{size: 0}), name=f"{size} = 0", path=path)


def _own_tiles(contract: Contract, index: int) -> Case:
    """The config as it is: ragged everywhere, one more trip than the ring is deep."""
    base = _base(contract, index, small=False)
    constants = base.constants(contract)
    sizes = {}
    for number, (size, tile) in enumerate(contract.tiled):
        sizes[size] = _extent(constants, tile) + (-5 if number == 0 else 3)
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = (stages_of(contract, index) + 1) * _extent(constants, tile) - 7
    return _with(replace(base, name="own tiles", schedules=("late", 0)), contract, **sizes)
