"""Launches drawn from a contract by hypothesis, for `verify` and for property tests of one's own.

    @given(launches(contract))
    @settings(derandomize=True, deadline=None)
    def test_my_kernel(launch):
        my_kernel[launch.grid](**launch.tensors, **launch.scalars, **launch.constants)

Sizes are drawn around whole tiles, since that is where kernels go wrong; a failing launch shrinks towards the first
config, one tile each way, one trip, padded rows and ordinary numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from ..contract import Contract
from .buffers import Arguments, Inapplicable, make_arguments
from .cases import ALL_SCHEDULES, DRAWN, Case, Data, Layout
from .replay import token
from .sizing import base_case, stages_of, tile_extent, with_sizes

#: In the order in which hypothesis simplifies. Rows that begin anywhere are rare: most kernels leave them to another.
LAYOUTS: tuple[Layout, ...] = ("padded", "padded-columns", "rows", "padded", "columns")
DATA: tuple[Data, ...] = ("normal", "ones", "zeros", "special", "large", "denormal")


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """One launch in fresh memory."""

    case: Case
    arguments: Arguments

    @property
    def tensors(self) -> Mapping[str, Any]:
        """numpy (or ml_dtypes) arrays by parameter; outputs hold poison."""
        return {name: memory.array for name, memory in self.arguments.tensors.items()}

    @property
    def scalars(self) -> Mapping[str, object]:
        """The numbers of the launch by parameter, strides in elements."""
        return self.arguments.scalars

    @property
    def constants(self) -> Mapping[str, object]:
        """The constexprs of the config by parameter."""
        return self.arguments.constants

    @property
    def grid(self) -> tuple[int, ...]:
        """Extents of the grid."""
        return self.arguments.grid

    @property
    def token(self) -> str:
        """What `tlxify verify … --replay` takes."""
        return token(self.case)

    def __repr__(self) -> str:
        return f"Launch({self.case}; replay {self.token})"


def launches(contract: Contract, *, small: bool = True) -> st.SearchStrategy[Launch]:
    """Valid launches of a contract, each in memory of its own.

    Args:
        contract: from `tlxify.analyze`, or written by hand.
        small: with tiles of 16 or 32 instead of the config's, as simulation wants them; for a GPU say False.
    """
    return _launches(cases(contract, small=small), contract)


@st.composite
def _launches(draw: Callable[..., Any], drawn: st.SearchStrategy[Case], contract: Contract) -> Launch:
    case = draw(drawn)
    try:
        return Launch(case, make_arguments(contract, case, 0))
    except Inapplicable:
        assume(False)
        raise


@st.composite
def cases(draw: Callable[..., Any], contract: Contract, *, small: bool = True) -> Case:
    """The same launches as plain data."""
    index = draw(st.integers(0, len(contract.configs) - 1))
    base = base_case(contract, index, small=small)
    constants = base.constants(contract)
    sizes: dict[str, int] = {}
    if contract.contracted is not None:
        size, tile = contract.contracted
        sizes[size] = draw(_around(tile_extent(constants, tile), 2 * stages_of(contract, index) + 2))
    for size, tile in contract.tiled:
        sizes[size] = draw(_around(tile_extent(constants, tile), 2))
    for size, tile in contract.covered:
        sizes[size] = draw(st.integers(1, tile_extent(constants, tile)))
    case = with_sizes(base, contract, **sizes)
    layouts = [
        (tensor.name, draw(st.sampled_from([one for one in LAYOUTS if not tensor.layouts or one in tensor.layouts])))
        for tensor in contract.tensors
    ]
    chosen = replace(
        case,
        name=DRAWN,
        values=tuple({**dict(case.values), **draw(_choices(contract, frozenset(constants)))}.items()),
        layouts=tuple((name, layout) for name, layout in layouts if layout != "rows"),
        dtype=draw(st.integers(0, max((len(tensor.dtypes) for tensor in contract.tensors), default=1) - 1)),
        data=draw(st.sampled_from(DATA)),
        path="any",
        schedules=(draw(st.sampled_from(ALL_SCHEDULES)),),
        # Whether a source stands less than a tile of what one tile covers, it alone knows.
        daring=bool(contract.covered),
    )
    return with_sizes(chosen, contract)  # flags may say of sizes that they are whole tiles


def _around(extent: int, most: int) -> st.SearchStrategy[int]:
    """Sizes of one to `most` tiles, the ones next to a whole number of tiles more often than others."""
    edges = [tiles * extent + more for tiles in range(1, most + 1) for more in (-1, 0, 1)]
    return st.one_of(st.integers(1, most * extent + 1), st.sampled_from([size for size in edges if size > 0]))


@st.composite
def _choices(draw: Callable[..., Any], contract: Contract, fixed: frozenset[str]) -> dict[str, object]:
    """A choice of each option, flag and number that the config does not set."""
    specs: list[tuple[str, tuple[object, ...]]] = [(spec.name, spec.choices) for spec in contract.constexprs]
    specs += [(spec.name, spec.choices) for spec in contract.scalars if spec.kind in ("int", "float")]
    tiles = {spec.name for spec in contract.constexprs if spec.kind == "tile"}
    free = [(name, choices) for name, choices in specs if len(choices) > 1 and name not in fixed | tiles]
    return {name: draw(st.sampled_from(choices)) for name, choices in free}
