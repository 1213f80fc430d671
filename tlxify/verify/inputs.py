"""Launches from the contract: the edge cases that every kernel is tried on. `strategies` draws more."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..contract import Contract, ContractFault, TensorSpec, cdiv, complete, extent_of
from .cases import ALL_SCHEDULES, FEW_SCHEDULES, ONE_SCHEDULE, Case, Data, Layout, Path
from .grids import grid_of
from .layouts import usual_layouts

#: Tiles for simulation: the least that `tl.dot` takes; twice as many rows, so that two consumer groups can share them.
SMALL_TILE = 16
SMALL_ROWS = 32
#: Elements of 8 bits in the 16 bytes that the TMA steps by.
ALIGNED_SIZE = 16
#: Launches with many programs: tiles of rows (more than are usually taken as one group) and of columns, and how many
#: there are of what else counts programs, one after the other. The first is tried in which all programs together do not
#: come to more than `MOST_TRIPS`.
MANY = ((11, 4, (3, 5, 7)), (5, 3, (3, 3, 3)), (3, 2, (3, 2, 2)))
MOST_TRIPS = 1000
#: Rows that indices pick from, at least.
PICKED = 5
#: Trips of the longest launch, of two tiles of the result: a kernel that loses one trip in 64 shows it.
MANY_TRIPS = 65


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


def edge_cases(contract: Contract, *, guarded: bool = True) -> tuple[Case, ...]:
    """The launches that are always tried, cheapest kinds of trouble first.

    Every config runs once with its own tiles; the first config of each combination of warps and stages runs all trip
    counts with small ones, and the first of all every size, layout, dtype, option and kind of data.

    Args:
        contract: what a valid launch is.
        guarded: a launcher decides which kernel runs, and which launches it must leave to the original is tried as
            well. Without one, launches are left out that no version of a kernel needs to stand.
    """
    seen: set[tuple[int, int]] = set()
    cases: list[Case] = []
    for index, config in enumerate(contract.configs):
        shape = (config.num_warps, config.num_stages)
        if shape not in seen:
            cases += _trips(contract, index, thorough=not seen)
        seen.add(shape)
    cases += _sizes(contract)
    cases += _programs(contract, trips=1 if guarded else 2)
    cases += _covered(contract)
    cases += _layouts(contract)
    cases += _data(contract)
    cases += _options(contract)
    cases += _fallbacks(contract)
    cases += [_own_tiles(contract, index) for index in range(len(contract.configs))]
    cases = [told(contract, suited) for case in cases if (suited := _suited(contract, case)) is not None]
    if not guarded:
        cases = [replace(case, path="any") for case in cases if case.zeroed is None and not _troubled(case)]
    distinct: dict[Case, Case] = {}
    for case in cases:
        distinct.setdefault(replace(case, name=""), case)
    return tuple(distinct.values())


def _suited(contract: Contract, case: Case) -> Case | None:
    """The case with layouts and values that the user's contract allows; None if that is another case."""
    bounds = {name: (low, high) for name, low, high in contract.bounds}
    for name, value in case.values:
        if name in bounds and isinstance(value, int):
            low, high = bounds[name]
            if value < low or (high is not None and value > high):
                return None
    if case.zeroed is not None and bounds.get(case.zeroed, (0, None))[0] > 0:
        return None
    layouts = dict(case.layouts)
    for tensor in contract.tensors:
        if not tensor.layouts or (layout := case.layout(tensor.name)) in tensor.layouts:
            continue
        if layout not in ("rows", "padded"):
            return None
        layouts[tensor.name] = next((other for other in ("rows", "padded") if other in tensor.layouts), layout)
    return replace(case, layouts=tuple(layouts.items()))


def _troubled(case: Case) -> bool:
    return any(layout in ("odd", "overlap") for _, layout in case.layouts)


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
    return with_sizes(replace(base, name="full size", layouts=layouts), contract, **sizes)


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
    return with_sizes(case, contract)


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
    steps = [(size, _step(tile, {**values, **constants})) for size, tile in (*contract.multiples, *contract.whole)]
    for size, step in [*steps, *((size, ALIGNED_SIZE) for size in contract.aligned)]:
        length = values.get(size)
        if isinstance(length, int) and step > 0:
            high = next((high for name, _, high in contract.bounds if name == size), None)
            whole = cdiv(length, step) * step
            values[size] = whole if high is None or whole <= high else high // step * step
    return values


def _step(text: str, known: dict[str, object]) -> int:
    extent = extent_of(text, known)
    return SMALL_TILE if extent is None else extent  # a tile that neither the config nor the call names


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


def _trips(contract: Contract, index: int, *, thorough: bool) -> Iterator[Case]:
    base, stages = base_case(contract, index), stages_of(contract, index)
    if contract.contracted is None:
        yield replace(base, name="two tiles each way", schedules=ALL_SCHEDULES)
        # Which sizes the trips come from is not known: enough of all of them fills every ring twice.
        yield from _deep(
            contract, base, (*contract.tiled, *_untold(contract)), "many tiles each way", 1, thorough=thorough
        )
        if thorough:
            yield from _long(contract, base)
        return
    size, tile = contract.contracted
    extent = tile_extent(base.constants(contract), tile)
    schedules = ALL_SCHEDULES if thorough else FEW_SCHEDULES
    for trips in sorted({1, stages - 1, stages, stages + 1, 2 * stages + 1}):
        case = with_sizes(replace(base, schedules=schedules), contract, **{size: trips * extent})
        yield replace(case, name=f"{case.trips} trips")
    if contract.free_sizes or _numbers(contract):
        yield from _deep(contract, base, [contract.contracted], "twice as many trips, shared", 2, thorough=thorough)
    if thorough and not _sizes_a_result(contract, size):
        single = {other: tile_extent(base.constants(contract), tile) for other, tile in contract.tiled}
        if contract.tiled:
            single[contract.tiled[-1][0]] *= 2
        case = with_sizes(replace(base, schedules=ONE_SCHEDULE), contract, **single, **{size: MANY_TRIPS * extent})
        yield replace(case, name=f"{case.trips} trips of two tiles")
    if contract.empties and not _sizes_a_result(contract, size):
        yield replace(base, name="0 trips behind the guard", schedules=schedules, zeroed=size, trips=0)


def _long(contract: Contract, base: Case) -> Iterator[Case]:
    """As many tiles along each size in turn as show a loop that loses one in 64, one tile along all others.

    Numbers that nothing is known of may count trips as well: each in turn is as many as fill every ring twice.
    """
    constants = base.constants(contract)
    extents = {size: tile_extent(constants, tile) for size, tile in (*contract.tiled, *_untold(contract))}
    once = replace(base, schedules=ONE_SCHEDULE)
    for size in extents:
        case = with_sizes(once, contract, **{**extents, size: MANY_TRIPS * extents[size]})
        yield replace(case, name=f"{MANY_TRIPS} tiles along {size}")
    for name in _numbers(contract):
        values = tuple({**dict(base.values), name: 2 * stages_of(contract, base.config) + 1}.items())
        case = with_sizes(replace(once, values=values, daring=True, path="claimed"), contract, **extents)
        yield replace(case, name=f"many of {name}")


def _untold(contract: Contract) -> list[tuple[str, str]]:
    """Sizes of a contract that somebody wrote of which it does not say how they are walked, with a tile of ours."""
    if contract.origin != "given":
        return []
    told = {*counting(contract), *(size for size, _ in (*contract.counted, *contract.covered, *contract.computed))}
    sizes = (scalar.name for scalar in contract.scalars if scalar.kind == "size")
    return [(size, str(SMALL_TILE)) for size in sizes if size not in told]


def _numbers(contract: Contract) -> list[str]:
    """Numbers of a launch that nothing is known of: how many tiles a program takes, how wide a window is."""
    return [scalar.name for scalar in contract.scalars if scalar.kind == "int" and not scalar.constexpr]


def _deep(
    contract: Contract, base: Case, tiled: Iterable[tuple[str, str]], name: str, sharing: int, *, thorough: bool
) -> Iterator[Case]:
    """Enough of the sizes to fill every ring of `sharing` programs twice, also where a number cuts them short."""
    constants, many = base.constants(contract), 2 * stages_of(contract, base.config) + 1
    extents = {size: tile_extent(constants, tile) for size, tile in tiled}
    numbers = _numbers(contract)
    if extents:
        longest = max(extents.values())
        values = {**dict(base.values), **dict.fromkeys(numbers, many * longest)}
        case = replace(base, values=tuple(values.items()), schedules=FEW_SCHEDULES if thorough else ONE_SCHEDULE)
        sizes = {size: sharing * many * extent for size, extent in extents.items()}
        if numbers:
            case = replace(case, daring=True, path="claimed")  # one may be what the source claims to be 1
        yield replace(with_sizes(case, contract, **sizes), name=name)


def _sizes_a_result(contract: Contract, size: str) -> bool:
    """Whether an output has the size, as attention of a sequence with itself has: with 0 there would be no result."""
    shapes = " ".join(extent for tensor in contract.tensors if tensor.writes for extent in tensor.shape)
    return any(size == other for other, _ in contract.tiled) or size in re.findall(r"\w+", shapes)


def _sizes(contract: Contract) -> Iterator[Case]:
    """Off by one around every tile, and a ragged end of the contracted size."""
    base = base_case(contract, 0)
    constants = base.constants(contract)
    steps = ((1, -1), (1, 1), (2, -1), (2, 1), (0, 1))
    for shift in range(len(steps) if contract.tiled else 0):
        sizes = {}
        for number, (size, tile) in enumerate(contract.tiled):
            tiles, more = steps[(shift + 2 * number) % len(steps)]
            sizes[size] = tiles * tile_extent(constants, tile) + more
        what = ", ".join(f"{size} = {extent}" for size, extent in sizes.items())
        yield with_sizes(replace(base, name=f"sizes {what}", schedules=ALL_SCHEDULES), contract, **sizes)
    if contract.contracted is not None:
        size, tile = contract.contracted
        extent, stages = tile_extent(constants, tile), stages_of(contract, 0)
        for length in (stages * extent + 1, 2 * stages * extent - 1, extent // 2):
            case = replace(base, name=f"ragged {size}", schedules=ALL_SCHEDULES)
            yield with_sizes(case, contract, **{size: length})


def _programs(contract: Contract, trips: int) -> Iterator[Case]:
    """More programs than one group of tiles has, and than one SM takes at once, of so many trips each."""
    for way in MANY:
        case = _many(contract, trips, *way)
        if case is None:
            return
        try:
            all_trips = math.prod(grid_of(contract, case)) * (case.trips or 1)
        except ContractFault:
            all_trips = 0  # running it says so
        if all_trips <= MOST_TRIPS or way == MANY[-1]:
            yield case
            return


def _many(contract: Contract, trips: int, rows: int, columns: int, others: Sequence[int]) -> Case | None:
    """A launch of so many tiles, and so many of whatever else counts programs; None where nothing does."""
    base = base_case(contract, 0)
    constants = base.constants(contract)
    sizes = {size: columns * tile_extent(constants, tile) - 3 for size, tile in contract.tiled[1:]}
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = trips * tile_extent(constants, tile)
    if contract.tiled:
        size, tile = contract.tiled[0]
        sizes[size] = rows * tile_extent(constants, tile) - 3
    counted = counting(contract)
    left = [size for size in counted if size not in sizes]
    left.sort(key=lambda size: size not in contract.free_sizes)  # those count programs and nothing else
    if left and not {size for size, _ in contract.tiled} & {*counted}:
        sizes[left.pop(0)] = rows
    sizes.update(zip(left, others, strict=False))
    # Programs that deal tiles out among themselves: more tiles than there are programs.
    fixed = math.prod(int(extent) for extent in contract.grid if extent.isdigit())
    if contract.tiled and not counted and fixed > 1:
        size, tile = contract.tiled[0]
        sizes[size] = max(rows, fixed // columns ** (len(contract.tiled) - 1) + 2) * tile_extent(constants, tile) - 3
    return with_sizes(replace(base, name="many programs"), contract, **sizes) if sizes else None


def _covered(contract: Contract) -> Iterator[Case]:
    """Less than a tile of what one tile covers: all but one, some more than half, the least."""
    base = base_case(contract, 0)
    extents = {size: tile_extent(base.constants(contract), tile) for size, tile in contract.covered}
    shares: tuple[Callable[[int], int], ...] = (lambda full: full - 1, lambda full: full // 2 + 1, lambda full: 1)
    for share in shares if extents else ():
        sizes = {size: max(1, share(extent)) for size, extent in extents.items()}
        case = with_sizes(replace(base, daring=True, path="any", schedules=FEW_SCHEDULES), contract, **sizes)
        given = dict(case.values)
        yield replace(case, name="less than a tile: " + ", ".join(f"{size} = {given[size]}" for size in sizes))


def _layouts(contract: Contract) -> Iterator[Case]:
    """Contiguous and transposed operands, alone and together."""
    base = base_case(contract, 0)
    constants = base.constants(contract)
    sizes = {size: 2 * tile_extent(constants, tile) for size, tile in contract.tiled}
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = (stages_of(contract, 0) + 1) * tile_extent(constants, tile)
    even = with_sizes(base, contract, **sizes)
    yield replace(even, name="contiguous", layouts=usual_layouts(contract, 0, padded=False))
    wide = [tensor.name for tensor in contract.tensors if len(tensor.shape) >= 2]
    for name in wide:
        transposed: tuple[tuple[str, Layout], ...] = ((name, "columns"),)
        yield replace(even, name=f"{name} transposed", layouts=transposed, path="any", schedules=FEW_SCHEDULES)
    everything: tuple[tuple[str, Layout], ...] = tuple((name, "padded-columns") for name in wide)
    yield replace(even, name="all transposed, padded", layouts=everything, path="any")


def _data(contract: Contract) -> Iterator[Case]:
    base = base_case(contract, 0)
    longer = base
    if contract.contracted is not None:
        size, tile = contract.contracted
        length = (stages_of(contract, 0) + 1) * tile_extent(base.constants(contract), tile)
        longer = with_sizes(base, contract, **{size: length - 1})
    kinds: tuple[Data, ...] = ("ones", "zeros", "special", "denormal", "large")
    for data in kinds:
        yield replace(longer, name=f"{data} data", data=data)
    for dtype in range(1, max((len(tensor.dtypes) for tensor in contract.tensors), default=1)):
        layouts = usual_layouts(contract, dtype, padded=True)
        yield replace(longer, name=f"dtype {dtype}", dtype=dtype, layouts=layouts, schedules=FEW_SCHEDULES)


def _options(contract: Contract) -> Iterator[Case]:
    """Every choice of every option, flag and number, one at a time; a flag that is set, on sizes of whole tiles too.

    Some flags say that sizes are multiples of tiles: launches that contradict one are the original's.
    """
    base = replace(base_case(contract, 0), path="claimed")
    constants = base.constants(contract)
    pairs = (*contract.tiled, *((contract.contracted,) if contract.contracted is not None else ()))
    whole = with_sizes(base, contract, **{size: 2 * tile_extent(constants, tile) for size, tile in pairs})
    specs: list[tuple[str, tuple[object, ...]]] = [
        (spec.name, spec.choices) for spec in contract.constexprs if spec.says is None
    ]
    numbers = [(scalar.name, scalar.choices) for scalar in contract.scalars if scalar.kind != "stride"]
    specs += numbers
    # What numbers from memory are compared with shows where there are many of these.
    many = [replace(case, path="claimed") for case in _programs(contract, 1)]
    flags = {spec.name: True for spec in contract.constexprs if spec.kind == "flag" and True in spec.choices}
    flags = {name: value for name, value in flags.items() if name not in constants}
    if len(flags) > 1:
        for case in dict.fromkeys((base, whole)):
            yield replace(case, name="every flag", values=tuple({**dict(case.values), **flags}.items()), daring=True)
    for name, choices in specs:
        if name in constants:
            continue
        for choice in choices[1:]:
            cases = [(base, f"{name} = {choice!r}")]
            if (name, choices) in numbers:
                cases += [(case, f"{name} = {choice!r}, many programs") for case in many]
            if choice is True and whole.values != base.values:
                cases.append((whole, f"{name} = {choice!r}, whole tiles"))
            for case, what in cases:
                yield replace(case, name=what, values=tuple({**dict(case.values), name: choice}.items()))


def _fallbacks(contract: Contract) -> Iterator[Case]:
    """Launches that the original must take."""
    base = replace(base_case(contract, 0), schedules=ONE_SCHEDULE)

    def lying(tensor: TensorSpec, layout: Layout) -> Case:
        layouts = tuple({**dict(base.layouts), tensor.name: layout}.items())
        return replace(base, name=f"{tensor.name} {layout}", layouts=layouts, path="view")

    for tensor in contract.tensors:
        if tensor.reads and tensor.shape:
            yield lying(tensor, "odd")
    if any(tensor.reads and not tensor.writes for tensor in contract.tensors):
        yield from (lying(tensor, "overlap") for tensor in contract.tensors if tensor.writes)
    for size, tile in contract.whole:
        ragged = {**dict(base.values), size: 2 * tile_extent(base.constants(contract), tile) - 3}
        yield replace(base, name=f"{size} is no multiple of {tile}", values=tuple(ragged.items()), path="original")
    for size, _ in contract.counted:
        # Where the source does not mask an axis, the guard does not know its extent: no trip is then as right as the
        # original. Nor does it know sizes that memory alone holds.
        unseen = size in contract.free_sizes or any(size == name for name, _ in contract.multiples)
        path: Path = "any" if unseen else "original"
        yield replace(with_sizes(base, contract, **{size: 0}), name=f"{size} = 0", path=path)


def _own_tiles(contract: Contract, index: int) -> Case:
    """The config as it is: ragged everywhere, one more trip than the ring is deep."""
    base = base_case(contract, index, small=False)
    constants = base.constants(contract)
    sizes = {}
    for number, (size, tile) in enumerate(contract.tiled):
        sizes[size] = tile_extent(constants, tile) + (-5 if number == 0 else 3)
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = (stages_of(contract, index) + 1) * tile_extent(constants, tile) - 7
    return with_sizes(replace(base, name="own tiles", schedules=("late", 0)), contract, **sizes)
