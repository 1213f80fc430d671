"""A launch as one line of JSON: what a finding prints, and what `tlxify verify … --replay` takes."""

from __future__ import annotations

import json
import typing
from dataclasses import replace
from typing import Any

from ..contract import Contract, cdiv
from .cases import Case, Data, Layout, Schedule
from .fitting import fitting
from .sizing import tile_extent, told

_LAYOUTS = typing.get_args(Layout)
_DATA = typing.get_args(Data)
_KEYS = ("config", "values", "tiles", "layouts", "dtype", "data", "schedule", "zeroed")


def token(case: Case, schedule: Schedule | None = None) -> str:
    """The line for a launch; what is usual is left out. `schedule` is by default the case's first."""
    first = case.schedules[0] if schedule is None else schedule
    data: dict[str, Any] = {
        "config": case.config,
        "values": dict(case.values),
        "tiles": dict(case.tiles),
        "layouts": {name: layout for name, layout in case.layouts if layout != "rows"},
        "dtype": case.dtype,
        "data": case.data,
        "schedule": first,
        "zeroed": case.zeroed,
    }
    usual = {"config": 0, "tiles": {}, "layouts": {}, "dtype": 0, "data": "normal", "schedule": "late", "zeroed": None}
    return json.dumps({key: value for key, value in data.items() if key not in usual or value != usual[key]})


def case_of(text: str, contract: Contract) -> Case:
    """The launch that a line stands for.

    Raises:
        ValueError: it is not such a line, or no launch of this contract; the text says which key and what is allowed.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"expected an object with the keys {', '.join(_KEYS)}")
    for key in data.keys() - set(_KEYS):
        raise ValueError(f"unknown key {key!r}; allowed are {', '.join(_KEYS)}")
    several = max((len(tensor.dtypes) for tensor in contract.tensors), default=1)
    config, dtype = _number(data, "config", len(contract.configs)), _number(data, "dtype", several)
    values, tiles, layouts = (_table(data, key) for key in ("values", "tiles", "layouts"))
    known = {scalar.name for scalar in contract.scalars} | {spec.name for spec in contract.constexprs}
    known |= {*contract.free_sizes, *(name for name, _ in contract.computed)}
    _names("values", values, known)
    set_by_config = {name for name, _ in contract.configs[config].values}
    _names("tiles", tiles, set_by_config | {spec.name for spec in contract.constexprs if spec.kind == "tile"})
    _names("layouts", layouts, {tensor.name for tensor in contract.tensors})
    for name, layout in layouts.items():
        if layout not in _LAYOUTS:
            raise ValueError(f"layouts.{name} is {layout!r}; allowed are {', '.join(_LAYOUTS)}")
    kind, schedule = data.get("data", "normal"), data.get("schedule", "late")
    if kind not in _DATA:
        raise ValueError(f"data is {kind!r}; allowed are {', '.join(_DATA)}")
    if schedule not in ("late", "eager") and (isinstance(schedule, bool) or not isinstance(schedule, int)):
        raise ValueError(f"schedule is {schedule!r}; allowed are 'late', 'eager' and numbers")
    zeroed = data.get("zeroed")
    counted = [size for size, _ in contract.counted]
    if zeroed is not None and zeroed not in counted:
        raise ValueError(f"zeroed is {zeroed!r}; allowed are {', '.join(map(repr, [*counted, None]))}")
    case = Case("replayed", config, tuple(values.items()), tuple(tiles.items()), tuple(layouts.items()))
    fitting(contract, case)
    for name, value in told(contract, case).values:
        if values[name] != value:
            raise ValueError(
                f"values.{name} is {values[name]!r}; by the contract it follows from others, and is {value!r}"
            )
    case = replace(case, dtype=dtype, data=kind, path="any", schedules=(schedule,), zeroed=zeroed)
    if case.zeroed is not None:
        return replace(case, trips=0)
    if contract.contracted is None or not isinstance(length := values.get(contract.contracted[0]), int):
        return case
    return replace(case, trips=cdiv(length, tile_extent(case.constants(contract), contract.contracted[1])))


def _number(data: dict[str, Any], key: str, end: int) -> int:
    value = data.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < end:
        raise ValueError(f"{key} is {value!r}; allowed are 0 to {end - 1}")
    return value


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} is {value!r}; expected an object")
    return value


def _names(key: str, given: dict[str, Any], known: set[str]) -> None:
    for name in given.keys() - known:
        raise ValueError(f"{key} names {name!r}; this kernel has {', '.join(sorted(known))}")
