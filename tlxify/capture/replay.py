"""From a captured launch to one that verification and benchmarks make.

The contract says what each parameter is, the record what it was: sizes and strides as numbers, element types, tiles.
Sizes that no parameter holds follow from the grid and from the shapes of tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..bench.sizes import sizes_of
from ..contract import Contract, ContractFault, LaunchConfig, complete, evaluate, extent_of
from ..verify.cases import ALL_SCHEDULES, Case, Layout
from .launches import Launch

#: What Triton launches with where neither call nor config says.
WARPS, STAGES = 4, 3
#: The TMA's alignment in bytes.
ALIGNED = 16


class Unreplayable(Exception):
    """The record does not tell enough to make this launch again; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A captured launch in the terms of a contract."""

    #: The inferred contract with the launch's own element types, and its config if that is none of the contract's.
    contract: Contract
    case: Case
    #: The config is the one that was launched: no tuner chose it among the contract's.
    pinned: bool


def replay(contract: Contract, launch: Launch) -> Replay:
    """The launch under `contract`.

    Raises:
        Unreplayable: an argument is missing or of a kind that cannot be told in JSON, or a size cannot be solved for.
    """
    given = {name: _value(name, value) for name, value in launch.scalars}
    _within(contract, launch, given)
    contract = _typed(contract, launch)
    if {name for config in contract.configs for name, _ in config.values} & given.keys() or len(contract.configs) == 1:
        contract, index, pinned = _config(contract, launch, given)
        return _made(contract, launch, given, index, pinned)
    # The name was bound to a conversion, and the tuner below it chose: the grid tells among which.
    made = [_made(contract, launch, given, index, False) for index in range(len(contract.configs))]
    return next((each for each in made if not has_own_grid(each.contract)), made[0])


def _made(contract: Contract, launch: Launch, given: Mapping[str, object], index: int, pinned: bool) -> Replay:
    """The launch with one of the contract's configs."""
    constants = dict(contract.configs[index].values)
    computed = {name for name, _ in contract.computed}
    values = {
        name: value
        for name, value in given.items()
        if name in contract.parameters and name not in constants and name not in {*computed, *contract.absent}
    }
    _complete_sizes(contract, launch, values, constants)
    settled = values.keys() | constants.keys() | computed
    missing = [scalar.name for scalar in contract.scalars if scalar.name not in settled]
    if missing:
        raise Unreplayable(f"the record has no {', '.join(missing)}")
    case = Case(
        name="captured",
        config=index,
        values=tuple(values.items()),
        layouts=tuple(_layouts(contract, launch)),
        path="any",
        schedules=ALL_SCHEDULES,
    )
    case = replace(case, trips=trips_of(contract, case))
    try:
        sizes = sizes_of(contract, case)
    except (KeyError, ValueError) as error:
        raise Unreplayable(f"the contract does not fit: {error}") from error
    for name in computed & given.keys() & sizes.known.keys():
        if sizes.known[name] != given[name]:
            raise Unreplayable(f"{name} = {given[name]!r}, where the contract computes {sizes.known[name]!r}")
    if _trimmed(sizes.grid) != _trimmed(launch.grid):
        # The caller knows better than the contract: its extents hold, for its config alone.
        return Replay(replace(contract, grid=tuple(map(str, launch.grid))), case, pinned=True)
    return Replay(contract, case, pinned)


def has_own_grid(contract: Contract) -> bool:
    """Whether the grid is the captured one in numbers: then it does not follow sizes or tiles."""
    return all(extent.isdigit() for extent in contract.grid)


def _trimmed(grid: tuple[int, ...]) -> tuple[int, ...]:
    """The grid without ones at its end."""
    while len(grid) > 1 and grid[-1] == 1:
        grid = grid[:-1]
    return grid


def _within(contract: Contract, launch: Launch, given: Mapping[str, object]) -> None:
    """Raises Unreplayable for a launch that the contract says nothing about."""
    for name in contract.absent:
        if launch.tensor(name) is not None:
            raise Unreplayable(f"{name} was passed, but the contract holds without it alone")
    for spec in contract.constexprs:
        value = given.get(spec.name)
        if spec.kind in ("flag", "option") and spec.name in given and value not in spec.choices:
            raise Unreplayable(f"{spec.name} = {value!r}, where the contract holds for {spec.choices}")


def trips_of(contract: Contract, case: Case) -> int | None:
    """Trips of the dot loop, as the contract counts them."""
    if contract.contracted is None:
        return None
    size, tile = contract.contracted
    known = {**dict(case.values), **case.constants(contract)}
    length, extent = known.get(size), extent_of(tile, known)
    return -(-length // extent) if isinstance(length, int) and extent else None


def _value(name: str, value: Any) -> object:
    if isinstance(value, Mapping):
        if "dtype" in value:
            return str(value["dtype"])
        raise Unreplayable(f"{name} is {next(iter(value.values()))!r}, which no record can hold")
    return value


def _typed(contract: Contract, launch: Launch) -> Contract:
    """The contract with the element types of this launch alone."""
    tensors = []
    for spec in contract.tensors:
        tensor = launch.tensor(spec.name)
        if tensor is None:
            raise Unreplayable(f"{spec.name} was not passed as a tensor")
        tensors.append(replace(spec, dtypes=(tensor.dtype,), dtype_group=spec.name))
    return replace(contract, tensors=tuple(tensors))


def _config(contract: Contract, launch: Launch, given: Mapping[str, object]) -> tuple[Contract, int, bool]:
    """The contract with the launch's config, its index, and whether the call itself chose it."""
    names = {name for config in contract.configs for name, _ in config.values}
    options = dict(launch.options)
    told = tuple((name, given[name]) for name in contract.parameters if name in names & given.keys())
    config = LaunchConfig(told, int(options.get("num_warps", WARPS)), int(options.get("num_stages", STAGES)))
    for index, known in enumerate(contract.configs):
        if dict(known.values) == dict(told) and (known.num_warps, known.num_stages) == (
            config.num_warps,
            config.num_stages,
        ):
            return contract, index, not contract.tuned
    return replace(contract, configs=(*contract.configs, config)), len(contract.configs), True


def _complete_sizes(
    contract: Contract, launch: Launch, values: dict[str, object], constants: Mapping[str, object]
) -> None:
    """Solves for the free sizes: an extent, an axis of the grid or the elements of a tensor each give an equation."""
    unknown = {name for name in contract.free_sizes if name not in values}
    for name in list(unknown):
        axis = name.removeprefix("grid_")
        if axis != name and axis.isdigit() and int(axis) < len(launch.grid):
            values[name] = launch.grid[int(axis)]
            unknown.discard(name)
    known = {**values, **constants}
    complete(contract, known)
    progress = True
    while unknown and progress:
        progress = False
        for expression, value in _equations(contract, launch, known):
            open_names = unknown & _names(expression)
            if len(open_names) == 1 and (solved := _solve(expression, value, (name := open_names.pop()), known)):
                values[name] = known[name] = solved
                unknown.discard(name)
                complete(contract, known)
                progress = True
    if unknown:
        raise Unreplayable(f"{', '.join(sorted(unknown))} cannot be told from shapes and grid")


def _equations(contract: Contract, launch: Launch, known: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    for spec in contract.tensors:
        tensor = launch.tensor(spec.name)
        if tensor is not None and len(tensor.shape) == len(spec.shape):
            # The contract may name the axes in another order than the program has them: strides tell which is which.
            for axis, (extent, text) in enumerate(zip(spec.shape, spec.strides, strict=True)):
                stride = _known(text, known)
                if stride is not None and stride != tensor.strides[axis]:
                    alike = [n for n, step in enumerate(tensor.strides) if step == stride and tensor.shape[n] > 1]
                    if len(alike) != 1:
                        continue
                    axis = alike[0]
                yield extent, tensor.shape[axis]
        elif tensor is not None and spec.shape:
            yield " * ".join(f"({extent})" for extent in spec.shape), tensor.numel
    yield from zip(contract.grid, (*launch.grid, 1, 1), strict=False)


def _known(expression: str, known: Mapping[str, object]) -> int | None:
    """The value of an expression, where all its names have one."""
    try:
        return evaluate(expression, known)
    except (ContractFault, ValueError):
        return None


def _names(expression: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}


def _solve(expression: str, value: int, name: str, known: Mapping[str, object]) -> int | None:
    """The integer for which the expression has that value, if it is `name` or a multiple of it."""
    try:
        once, twice = (evaluate(expression, {**known, name: number}) for number in (1, 2))
    except (ContractFault, ValueError):
        return None
    step = twice - once
    if step <= 0 or (value - once) % step:
        return None
    solved = 1 + (value - once) // step
    try:
        return solved if solved > 0 and evaluate(expression, {**known, name: solved}) == value else None
    except (ContractFault, ValueError):
        return None


def _layouts(contract: Contract, launch: Launch) -> Iterator[tuple[str, Layout]]:
    """How tensors lie, as far as strides among the parameters do not say it."""
    read = next((spec.name for spec in contract.tensors if spec.reads), None)
    pairs = {frozenset(pair) for pair in launch.overlaps}
    for spec in contract.tensors:
        tensor = launch.tensor(spec.name)
        if tensor is None:
            continue
        if spec.writes and read is not None and frozenset((spec.name, read)) in pairs:
            yield spec.name, "overlap"
        elif tensor.alignment < ALIGNED:
            yield spec.name, "odd"
