"""Launches that differ in how much there is: trips, tiles, programs, parts of a tile."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ..contract import Contract, ContractFault
from .cases import ALL_SCHEDULES, FEW_SCHEDULES, ONE_SCHEDULE, Case
from .grids import grid_of
from .sizing import SMALL_TILE, base_case, counting, sibling_depths, stages_of, tile_extent, with_sizes

#: Launches with many programs: tiles of rows (more than are usually taken as one group) and of columns, and how many
#: there are of what else counts programs, one after the other. The first is tried in which all programs together do not
#: come to more than `MOST_TRIPS`.
MANY = ((11, 4, (3, 5, 7)), (5, 3, (3, 3, 3)), (3, 2, (3, 2, 2)))
MOST_TRIPS = 1000
#: Trips of the longest launch, of two tiles of the result: a kernel that loses one trip in 64 shows it.
MANY_TRIPS = 65


def trip_cases(contract: Contract, index: int, *, thorough: bool) -> Iterator[Case]:
    """Loops that are shorter, as long and longer than the ring; where none is known, many tiles."""
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
    # Loops that share a ring go on where the one before ended, wherever that is.
    counts = (1, stages + 1, 2 * stages + 1, stages)
    siblings = sibling_depths(contract)
    for shift, trips in enumerate(counts if siblings else ()):
        other = {
            size: counts[(shift + number) % len(counts)] * tile_extent(base.constants(contract), step)
            for number, (size, step) in enumerate(siblings, 1)
        }
        case = with_sizes(replace(base, schedules=FEW_SCHEDULES), contract, **{size: trips * extent}, **other)
        what = ", ".join(f"{name} = {length}" for name, length in other.items())
        yield replace(case, name=f"{case.trips} trips beside {what}")
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


def size_cases(contract: Contract) -> Iterator[Case]:
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


def program_cases(contract: Contract, trips: int) -> Iterator[Case]:
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


def covered_cases(contract: Contract) -> Iterator[Case]:
    """Less than a tile of what one tile covers: all but one, some more than half, the least."""
    base = base_case(contract, 0)
    extents = {size: tile_extent(base.constants(contract), tile) for size, tile in contract.covered}
    shares: tuple[Callable[[int], int], ...] = (lambda full: full - 1, lambda full: full // 2 + 1, lambda full: 1)
    for share in shares if extents else ():
        sizes = {size: max(1, share(extent)) for size, extent in extents.items()}
        case = with_sizes(replace(base, daring=True, path="any", schedules=FEW_SCHEDULES), contract, **sizes)
        given = dict(case.values)
        yield replace(case, name="less than a tile: " + ", ".join(f"{size} = {given[size]}" for size in sizes))
