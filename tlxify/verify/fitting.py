"""Whether the numbers of a launch that somebody wrote are those of a contract: all of them, and each of its kind."""

from __future__ import annotations

from collections.abc import Iterator

from ..contract import ConstexprSpec, Contract
from .cases import Case


def fitting(contract: Contract, case: Case) -> None:
    """Raises ValueError where a value is missing, of another kind or in the wrong table; the text says which."""
    values, settled = dict(case.values), case.constants(contract)
    given = dict(contract.configs[case.config].values)
    constexprs = {spec.name: spec for spec in contract.constexprs}
    for name in values:
        if name in given and name not in {size for size, _ in contract.covered}:
            raise ValueError(
                f"values.{name} is {values[name]!r}, but config {case.config} sets it; tiles may replace it"
            )
    computed = {name for name, _ in contract.computed}
    missing = [
        name for name in _needed(contract) if name not in values and name not in settled and name not in computed
    ]
    if missing:
        raise ValueError(f"values lacks {', '.join(missing)}; a launch has a number for each of them")
    kinds = {scalar.name: scalar.kind for scalar in contract.scalars} | dict.fromkeys(contract.free_sizes, "size")
    for name, value in values.items():
        if name in constexprs:
            _constant(f"values.{name}", constexprs[name], value)
        elif kinds.get(name) == "float":
            _require(f"values.{name}", value, "a number", right=_whole(value) or isinstance(value, float))
        elif kinds.get(name) == "int" or name in computed:
            _require(f"values.{name}", value, "a whole number", right=_whole(value))
        else:
            right = isinstance(value, int) and _whole(value) and value >= 0
            _require(f"values.{name}", value, "a whole number that is not negative", right=right)
    for name, value in case.tiles:
        _constant(f"tiles.{name}", constexprs.get(name, ConstexprSpec(name, "int", ())), value)


def _needed(contract: Contract) -> Iterator[str]:
    """What a launch must have a value for, in the order of the parameters."""
    yield from (scalar.name for scalar in contract.scalars if scalar.kind != "stride")
    yield from (spec.name for spec in contract.constexprs if spec.kind != "dtype")
    yield from contract.free_sizes


def _constant(where: str, spec: ConstexprSpec, value: object) -> None:
    if spec.kind == "tile":
        power = isinstance(value, int) and _whole(value) and value > 0 and not value & (value - 1)
        _require(where, value, "a power of two", right=power)
    elif spec.kind == "int":
        _require(where, value, "a whole number", right=_whole(value))
    elif spec.choices:
        _require(where, value, ", ".join(map(repr, spec.choices)), right=value in spec.choices)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _require(where: str, value: object, allowed: str, *, right: bool) -> None:
    if not right:
        raise ValueError(f"{where} is {value!r}; allowed: {allowed}")
