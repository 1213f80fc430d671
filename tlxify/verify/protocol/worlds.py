"""The launches in which a kernel's protocol is followed: every config at the trip counts where rings go wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from ...contract import Contract, LaunchConfig, extent_of
from ..grids import settle_grid
from .world import World

#: Element sizes in bytes by the short dtype names of contracts.
_ITEMSIZES = {"fp32": 4, "fp64": 8, "i32": 4, "i64": 8, "fp16": 2, "bf16": 2, "i16": 2}

#: Tiles that one program takes at most, one after the other: more of them tell nothing that fewer do not.
MOST_TILES = 12


def launch_constants(config: LaunchConfig) -> Iterator[dict[str, object]]:
    """The constexprs that a specialized launch adds to a source config, where the launcher cannot be asked.

    Ring depths: the shallowest ever chosen, and the config's own. Consumers: one group, or two of four warps each.
    """
    groups = (1,) if config.num_warps < 8 else (1, 2)
    for stages, consumers in itertools.product(sorted({2, max(2, config.num_stages)}), groups):
        warps = max(4, config.num_warps // consumers)
        yield {
            **dict(config.values),
            "STAGES": stages,
            "CONSUMERS": consumers,
            "CONSUMER_WARPS": warps,
            "CONSUMER_REGISTERS": 216 if warps * consumers == 4 else 232,
            "TRANSFORM_REGISTERS": 104,
        }


def trip_counts(stages: int) -> tuple[int, ...]:
    """Trips of a dot loop worth trying: around the ring's depth, and long enough for every slot to be used twice."""
    return tuple(sorted({0, 1, stages - 1, stages, stages + 1, 2 * stages + 1}))


def worlds_of(
    contract: Contract,
    launches: Sequence[Mapping[str, object]] | None = None,
    stage_names: Sequence[str] = ("STAGES", "NUM_STAGES"),
) -> Iterator[World]:
    """Worlds of a contract: the first launch at all trip counts and options, the others at the two that tell most.

    Args:
        contract: what the parameters are.
        launches: constexprs of each specialized launch, as the launcher derives them; guessed if left out.
        stage_names: constexprs that hold a ring's depth.
    """
    if launches is None:
        launches = [constants for config in contract.configs for constants in launch_constants(config)]
    sizes = {
        name: size
        for group in {tensor.dtype_group: tensor for tensor in contract.tensors if tensor.reads}.values()
        for name, size in ((group.dtype_group, _ITEMSIZES.get(contract.dtype_of(group, 0), 1)),)
    }
    itemsizes = {tensor.name: sizes.get(tensor.dtype_group, 2) for tensor in contract.tensors}
    itemsizes |= {f"{name.removesuffix('_ptr')}_desc": size for name, size in tuple(itemsizes.items())}
    choosable = [spec for spec in contract.constexprs if spec.kind in ("flag", "option")]
    options = [
        dict(zip((spec.name for spec in choosable), choice, strict=True))
        for choice in itertools.product(*(spec.choices or (None,) for spec in choosable))
    ]
    for launch, constants in enumerate(launches):
        known = [value for name in stage_names if isinstance(value := constants.get(name), int)]
        stages = known[0] if known else 2
        counts = trip_counts(stages) if launch == 0 else (stages + 1, 2 * stages + 1)
        for trips, seed in itertools.product(counts, (0, 1)):
            for option in options if launch == 0 else options[:1]:
                for programs in (1, 1 << 20):
                    yield _world(contract, {**option, **constants}, itemsizes, trips, programs, seed)


def _world(
    contract: Contract,
    constants: Mapping[str, object],
    itemsizes: Mapping[str, int],
    trips: int,
    programs: int,
    seed: int,
) -> World:
    """One world: `trips` tiles along the contracted size, two along each tiled one, at most `programs` programs."""
    values: dict[str, object] = {}
    for scalar in contract.scalars:
        values[scalar.name] = scalar.choices[0] if scalar.choices else 64
    values |= dict.fromkeys(contract.free_sizes, 2)
    values |= {
        spec.name: spec.choices[0] for spec in contract.constexprs if spec.kind in ("int", "tile") and spec.choices
    }
    values |= constants
    for size, tile in contract.tiled:
        values[size] = 2 * (extent_of(tile, values) or 64) - 3
    values |= {size: extent_of(tile, values) or 64 for size, tile in contract.covered}
    if contract.contracted is not None:
        size, tile = contract.contracted
        extent = extent_of(tile, values)
        ragged = 3 if seed and trips else 0
        values[size] = 64 * trips if extent is None else trips * extent - ragged
    grid = settle_grid(contract, values)
    total = 1
    for extent in grid:
        total *= extent
    values |= {f"GRID_{axis}": extent for axis, extent in enumerate(grid)}
    # A size may count rows as well as trips: with none of either nothing is launched, and one program stands for that.
    few = max(programs, -(-total // MOST_TILES))
    persistent = (max(1, min(total, few)), 1, 1)
    # One program takes all tiles if tiles are looped over, else the first. Of several, the last one is followed: how
    # many trips a program takes may depend on which it is, and be none for the first.
    program = tuple(max(0, extent - 1) for extent in grid) if programs > 1 else (0,) * len(grid)
    pointers = {tensor.name for tensor in contract.tensors}
    launch = ", ".join(f"{name} = {value!r}" for name, value in constants.items())
    return World(
        {name: value for name, value in values.items() if name not in pointers},
        program_id=(*program, 0, 0, 0)[:3],
        num_programs=persistent,
        itemsize=max(itemsizes.values(), default=2) if not itemsizes else min(itemsizes.values()),
        itemsizes=itemsizes,
        seed=seed,
        label=f"{trips} trips, program {program} of {persistent[0]} for {total} tiles, {launch}",
    )
