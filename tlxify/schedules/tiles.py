"""Tiles of our own beside those that the source lists: which, where they may be, and pruned by what a chip holds.

The best tile of a warp-specialized kernel is often none of its source's: with one CTA to an SM, what hides the latency
is a large tile and deep rings, while a source of small tiles has two CTAs take turns. Configs of our own keep every
constexpr of one of the source's but the rows and columns of its tile, so each element is added up in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..contract import LaunchConfig
from ..facts import Tiling
from ..plan import OwnTiles, Plan
from ..targets import Target

#: Rows, columns and consumer warps: on an H200 the fastest of a 128 x 128 source's tiles and these was one of these in
#: most launches of eight GEMMs (benchmarks/results/tiles-h200.json); 128 x 128 in four warps, two CTAs to an SM, never.
CHOICES = ((128, 256, 8), (256, 128, 8))
#: Columns that a product may have beside a role that computes an operand: with 512 threads to a CTA ptxas compiles no
#: wider one.
WIDEST_COMPUTED = 128
#: Bytes per element that depths are reckoned with, unless the dots multiply nothing wider than bytes; the launcher cuts
#: them to what the operands of a launch leave room for.
ITEMSIZE = 2
DEEPEST, SHALLOWEST = 6, 3


def with_own_tiles(plan: Plan, tiling: Tiling, configs: tuple[LaunchConfig, ...], target: Target) -> Plan:
    """The plan with configs of our own, where any are worth trying."""
    if plan.alternation is not None:
        return plan  # a group has a whole tile to itself: those of the source are as large as it can hold
    relied_on = " ".join(plan.guard.claims)
    if any(re.search(rf"\b{name}\b", relied_on) for name in (tiling.rows, tiling.columns)):
        return plan
    own = tuple(own_configs(plan, tiling, configs, target))
    return replace(plan, own=OwnTiles(own, tiling.grid)) if own else plan


def own_configs(
    plan: Plan, tiling: Tiling, configs: tuple[LaunchConfig, ...], target: Target
) -> Iterator[LaunchConfig]:
    """Configs with other tiles than the source's: none far larger, none that registers or shared memory cannot hold."""
    listed = [(_side(config, tiling.rows), _side(config, tiling.columns), config) for config in configs]
    rows, columns = max(rows for rows, _, _ in listed), max(columns for _, columns, _ in listed)
    if rows < target.dot_rows:
        return  # made for few rows: larger tiles would multiply nothing
    # Of the largest tiles those of the longest trips.
    *_, base = max(listed, key=lambda each: (each[0] * each[1], _stage(plan, dict(each[2].values), target)))
    taken = {(down, across, config.num_warps) for down, across, config in listed}
    for down, across, warps in CHOICES:
        if (down, across, warps) in taken or down > 2 * rows or across > 2 * columns:
            continue
        if plan.transform is not None and across > WIDEST_COMPUTED:
            continue
        values = tuple((name, {tiling.rows: down, tiling.columns: across}.get(name, v)) for name, v in base.values)
        depth = _depth(plan, dict(values), down * across, target)
        if depth >= SHALLOWEST and _held(plan, down * across, warps) <= target.accumulators(crowded=plan.crowded):
            yield LaunchConfig(values, warps, depth)


def _side(config: LaunchConfig, name: str) -> int:
    value = dict(config.values)[name]
    return value if isinstance(value, int) else 0


def _held(plan: Plan, elements: int, warps: int) -> int:
    """Accumulators of a consumer thread."""
    return max(1, len(plan.products)) * elements // (32 * warps)


def _depth(plan: Plan, values: Mapping[str, object], elements: int, target: Target) -> int:
    """How deep the rings can be: an epilogue takes about a byte for each element of the tile."""
    stage = _stage(plan, values, target)
    return min(DEEPEST, (target.shared_memory - elements) // stage) if stage else 0


def _stage(plan: Plan, values: Mapping[str, object], target: Target) -> int:
    """Bytes of shared memory that one trip takes; 0 where a side of a buffer's tile is not known."""
    bytes_alone = all(set(group.dtypes) <= set(target.deep_dtypes) for group in plan.guard.operands)
    total = 0
    tiles = [buffer.tile for ring, buffer in plan.buffers() if ring.depth != "1"]
    tiles += [plan.transform.tile] if plan.transform is not None else []
    for tile in tiles:
        elements = 1
        for side in tile:
            length = values.get(side, int(side) if side.isdigit() else None)
            if not isinstance(length, int):
                return 0
            elements *= length
        total += elements * (1 if bytes_alone else ITEMSIZE)
    return total
