"""Which launches are measured: a few from the contract that fill the chip, or those that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..contract import Contract, LaunchConfig, cdiv
from ..verify.cases import Case
from ..verify.layouts import usual_layouts
from ..verify.sizing import full_size_case

#: Tiles along each side of the result, and trips of the dot loop: square, short loops, long loops.
FILLING = ((32, 64), (64, 8), (16, 256))
#: Sizes that count neither tiles nor trips: batches, heads.
FEW = 4


class Unknown(Exception):
    """A size that the kernel does not have, or one that is no number; the text lists those it has."""


def parse(text: str) -> dict[str, int]:
    """The sizes of "M=4096,N=4096,K=512". Raises Unknown."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not value.strip().isdigit():
            raise Unknown(f"{part!r} is not NAME=NUMBER")
        found[name.strip()] = int(value)
    return found


def filling(contract: Contract) -> tuple[Case, ...]:
    """Launches of the first config that keep all SMs busy: large and square, with short loops, with long ones."""
    return tuple(
        _batched(contract, full_size_case(contract, 0, tiles=tiles, trips=trips))
        for tiles, trips in (FILLING if contract.contracted is not None else FILLING[:2])
    )


def named(contract: Contract, sizes: Mapping[str, int]) -> Case:
    """The launch with these sizes; those not named are as in the first of `filling`. Raises Unknown."""
    base = filling(contract)[0]
    values = dict(base.values)
    scalars = {scalar.name for scalar in contract.scalars} | {spec.name for spec in contract.constexprs}
    for name in sizes:
        if name not in values and name not in scalars:
            raise Unknown(f"{contract.kernel} has no size {name}; it has {', '.join(values)}")
    trips = base.trips
    values |= sizes
    if contract.contracted is not None:
        size, tile = contract.contracted
        length, extent = values.get(size), base.constants(contract).get(tile, values.get(tile))
        trips = cdiv(length, extent) if isinstance(length, int) and isinstance(extent, int) else None
    return replace(base, name="named", values=tuple(values.items()), trips=trips)


def title(contract: Contract, case: Case) -> str:
    """What tells a launch from the kernel's others, stable from run to run."""
    sizes = [f"{name}={value!r}" for name, value in case.values if not _is_stride(contract, name)]
    dtypes = {contract.dtype_of(spec, case.dtype): None for spec in contract.tensors if spec.dtypes}
    layouts = [f"{name} {layout}" for name, layout in case.layouts if layout != "rows"]
    strides = [f"{name}={value}" for name, value in case.values if _is_stride(contract, name) and value != 1]
    return "; ".join(", ".join(part) for part in (sizes, list(dtypes), layouts, strides) if part)


def config_text(config: LaunchConfig) -> str:
    """A config as a report names it."""
    values = [f"{name}={value}" for name, value in config.values]
    return ", ".join([*values, f"num_warps={config.num_warps}", f"num_stages={config.num_stages}"])


def _is_stride(contract: Contract, name: str) -> bool:
    return any(scalar.name == name and scalar.kind == "stride" for scalar in contract.scalars)


def _batched(contract: Contract, case: Case) -> Case:
    """With a handful of each thing that is counted by no tile, and every tensor as the tensor cores read it: in rows,
    but for 8-bit elements that must lie along another axis.
    """
    counted = {size for size, _ in contract.tiled} | ({contract.contracted[0]} if contract.contracted else set())
    sizes = {scalar.name for scalar in contract.scalars if scalar.kind == "size" and not scalar.choices}
    values = {
        name: FEW if name in (sizes | set(contract.free_sizes)) - counted and value == 2 else value
        for name, value in case.values
    }
    return replace(case, values=tuple(values.items()), layouts=usual_layouts(contract, case.dtype, padded=False))
