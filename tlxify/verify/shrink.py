"""Makes a failing launch small: fewer tiles, fewer trips, plain memory and data, as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..contract import Contract
from .cases import Case
from .inputs import tile_extent, with_sizes

#: Launches that may be tried on the way: each takes a fraction of a second.
MOST = 40


def shrunk(contract: Contract, case: Case, fails: Callable[[Case], bool]) -> Case:
    """The smallest launch found that `fails`, starting from one that does. Deterministic; tries at most MOST."""
    left, tried = MOST, {case}
    while True:
        for smaller in _simpler(contract, case):
            if smaller in tried:
                continue
            if not left:
                return case
            left -= 1
            tried.add(smaller)
            if fails(smaller):
                case = smaller
                break
        else:
            return case


def _simpler(contract: Contract, case: Case) -> Iterator[Case]:
    """One step each, the largest first."""
    values, constants = dict(case.values), case.constants(contract)
    name = case.name if case.name.endswith(", shrunk") else f"{case.name}, shrunk"
    case = replace(case, name=name, path="any")
    tiles = dict([*([contract.contracted] if contract.contracted else []), *reversed(contract.tiled)])
    sizes = [*tiles, *(name for name in contract.free_sizes if name not in tiles)]
    sizes += [scalar.name for scalar in contract.scalars if scalar.kind == "size" and scalar.name not in sizes]
    for size in sizes:
        value = values.get(size)
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        tile = tile_extent(constants, tiles[size]) if size in tiles else 1
        for wanted in sorted({1, tile, value // 2 // tile * tile, value - tile, value - 1}):
            if 0 < wanted < value:
                smaller = with_sizes(case, contract, **{size: wanted})
                if sum(_sizes(smaller)) < sum(_sizes(case)):
                    yield smaller
    if case.layouts:
        yield replace(case, layouts=())
        for position in range(len(case.layouts)):
            yield replace(case, layouts=(*case.layouts[:position], *case.layouts[position + 1 :]))
    if case.data != "normal":
        yield replace(case, data="normal")
    if case.dtype:
        yield replace(case, dtype=0)


def _sizes(case: Case) -> list[int]:
    return [value for _, value in case.values if isinstance(value, int)]
