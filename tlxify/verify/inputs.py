"""Launches from the contract: the edge cases that every kernel is tried on. `strategies` draws more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..contract import Contract, TensorSpec
from .cases import FEW_SCHEDULES, ONE_SCHEDULE, Case, Data, Layout, Path
from .extents import covered_cases, program_cases, size_cases, trip_cases
from .layouts import usual_layouts
from .sizing import base_case, lying_deep, stages_of, tile_extent, told, with_sizes


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
            cases += trip_cases(contract, index, thorough=not seen)
        seen.add(shape)
    cases += size_cases(contract)
    cases += program_cases(contract, trips=1 if guarded else 2)
    cases += covered_cases(contract)
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
    # A size that the config sets is what the config sets it to, whatever a case would have it be.
    fixed = case.constants(contract)
    if case.zeroed in fixed:
        return None
    if case.path == "original" and any(value == 0 != fixed.get(name, value) for name, value in case.values):
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
        case = replace(longer, name=f"dtype {dtype}", dtype=dtype, layouts=layouts, schedules=FEW_SCHEDULES)
        yield lying_deep(contract, case)


def _options(contract: Contract) -> Iterator[Case]:
    """Every choice of every option, flag and number, one at a time; a flag that is set, on sizes of whole tiles too.

    Some flags say that sizes are multiples of tiles: launches that contradict one are the original's.
    """
    base = replace(base_case(contract, 0), path="claimed")
    constants = base.constants(contract)
    whole = with_sizes(base, contract, **{size: 2 * tile_extent(constants, tile) for size, tile in contract.counted})
    specs: list[tuple[str, tuple[object, ...]]] = [
        (spec.name, spec.choices) for spec in contract.constexprs if spec.says is None
    ]
    numbers = [(scalar.name, scalar.choices) for scalar in contract.scalars if scalar.kind != "stride"]
    specs += numbers
    # What numbers from memory are compared with shows where there are many of these.
    many = [replace(case, path="claimed") for case in program_cases(contract, 1)]
    flags = {spec.name: True for spec in contract.constexprs if spec.kind == "flag" and True in spec.choices}
    flags = {name: value for name, value in flags.items() if name not in constants}
    if len(flags) > 1:
        for case in dict.fromkeys((base, whole)):
            flagged = replace(case, values=tuple({**dict(case.values), **flags}.items()))
            yield replace(with_sizes(flagged, contract), name="every flag", daring=True)
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
                # A flag may say of sizes that they are whole tiles.
                told_so = replace(case, name=what, values=tuple({**dict(case.values), name: choice}.items()))
                yield with_sizes(told_so, contract)
            yield from _freed(contract, base, name, choice)


def _freed(contract: Contract, base: Case, name: str, choice: object) -> Iterator[Case]:
    """Sizes that need no more be whole tiles once an option is chosen, and are none then."""
    constants = base.constants(contract)
    chosen = replace(base, values=tuple({**dict(base.values), name: choice}.items()), schedules=FEW_SCHEDULES)
    trips = stages_of(contract, base.config) + 1
    ragged = {size: trips * tile_extent(constants, tile) - 3 for size, tile in contract.counted}
    ragged |= {size: tile_extent(constants, tile) - 1 for size, tile in contract.covered}
    for size in dict.fromkeys(size for size, _ in contract.multiples if size in ragged):
        before, after = (dict(with_sizes(one, contract, **{size: ragged[size]}).values) for one in (base, chosen))
        if before[size] != ragged[size] == after[size]:
            case = with_sizes(chosen, contract, **{size: ragged[size]})
            yield replace(case, name=f"{name} = {choice!r}, ragged {size}", daring=size in dict(contract.covered))


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
