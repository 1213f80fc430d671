"""Makes a failing launch small: fewer tiles, fewer trips, plain memory and data, as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..contract import Contract
from .cases import Case
from .sizing import tile_extent, with_sizes

#: Launches that may be tried on the way: each takes a fraction of a second.
MOST = 48


def shrunk(contract: Contract, case: Case, fails: Callable[[Case], bool]) -> Case:
    """The smallest launch found that `fails`, starting from one that does. Deterministic; tries at most MOST."""
    search = _Search(contract, case, fails)
    before = None
    while search.case != before:
        before = search.case
        for size, tile in _sizes(contract):
            search.least(size, tile_extent(before.constants(contract), tile) if tile else 1)
        search.take(replace(search.case, layouts=()))
        for tensor in contract.tensors:
            search.take(replace(search.case, layouts=tuple(p for p in search.case.layouts if p[0] != tensor.name)))
        search.take(replace(search.case, data="normal"))
        search.take(replace(search.case, dtype=0))
    return search.case


class _Search:
    """The smallest failing launch so far."""

    def __init__(self, contract: Contract, case: Case, fails: Callable[[Case], bool]) -> None:
        self.contract = contract
        self.case = case
        self.fails = fails
        self.tried = {case}

    def take(self, case: Case) -> bool:
        """Whether another launch fails as well; then it is the smallest."""
        name = case.name if case.name.endswith(", shrunk") else f"{case.name}, shrunk"
        case = replace(case, name=name, path="any")
        if case in self.tried or case == replace(self.case, name=name, path="any") or len(self.tried) > MOST:
            return False
        self.tried.add(case)
        if self.fails(case):
            self.case = case
            return True
        return False

    def least(self, size: str, tile: int) -> None:
        """Makes one size small: 1 or one tile if that will do, else by halving what is between."""
        value = dict(self.case.values).get(size)
        if not isinstance(value, int) or isinstance(value, bool):
            return
        low = 0
        for wanted in sorted({1, tile}):
            if wanted < value:
                if self.take(with_sizes(self.case, self.contract, **{size: wanted})):
                    value = self._value(size)
                    break
                low = wanted
        while value - low > 1:
            middle = (low + value) // 2
            smaller = with_sizes(self.case, self.contract, **{size: middle})
            if dict(smaller.values) != dict(self.case.values) and self.take(smaller):
                value = self._value(size)
            else:
                low = middle

    def _value(self, size: str) -> int:
        value = dict(self.case.values)[size]
        assert isinstance(value, int)
        return value


def _sizes(contract: Contract) -> list[tuple[str, str | None]]:
    """Sizes with their tiles, those that cost most first."""
    tiled = [*([contract.contracted] if contract.contracted else []), *contract.tiled]
    found: dict[str, str | None] = dict(tiled)
    for name in (*contract.free_sizes, *(scalar.name for scalar in contract.scalars if scalar.kind == "size")):
        found.setdefault(name, None)
    return list(found.items())
