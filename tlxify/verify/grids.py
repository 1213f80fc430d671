"""The grid of a launch, and the sizes that follow from it."""

from __future__ import annotations

from ..contract import Contract, complete, evaluate
from .cases import Case


def grid_of(contract: Contract, case: Case) -> tuple[int, ...]:
    """The grid of a case. Raises ContractFault where the contract does not tell."""
    known: dict[str, object] = {**dict(case.values), **case.constants(contract)}
    return settle_grid(contract, known)


def settle_grid(contract: Contract, known: dict[str, object]) -> tuple[int, ...]:
    """The grid's extents under the `known` sizes and constexprs.

    What follows from the `known` ones is worked out first, and corrected there. A free size `grid_0` is by convention
    the extent of grid axis 0 (a tensor with one row per program). Where the axis has an expression of its own, that
    decides, and the size is corrected in `known` as well.

    Raises:
        ContractFault: an expression has no value.
    """
    complete(contract, known)
    grid = []
    for axis, expression in enumerate(contract.grid):
        extent = evaluate(expression, known)
        if f"grid_{axis}" in contract.free_sizes:
            known[f"grid_{axis}"] = extent
        grid.append(extent)
    return tuple(grid)
