"""What the simulator has to say about a launch that went wrong on a GPU: which roles wait for what, who raced whom.

A GPU tells that a launch hung or that its result changed; it does not tell why. The same launch on the CPU does, if
its schedules show the fault: late, eager and some seeds. A launch too large for that is cut down first, with everything
kept that could matter: config, tiles, layouts, dtype, data, what is left over at each end, and trips enough to go
around the rings twice. Only called in a child process: the module is imported and run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..contract import Contract, cdiv
from ..conversion import Conversion
from ..verdict import Evidence
from .cases import ALL_SCHEDULES, Case
from .gpu import cases_of
from .loading import load
from .simulate import Simulation
from .sizing import stages_of

#: Tiles along each side of the result that are simulated.
TILES = 2


def cut_down(contract: Contract, case: Case) -> Case:
    """The case with at most `TILES` tiles along each size, and at most two rounds of the rings and one more trip."""
    values, constants = dict(case.values), case.constants(contract)
    limits = [(size, tile, TILES) for size, tile in contract.tiled]
    trips = case.trips
    if contract.contracted is not None:
        limits.append((*contract.contracted, 2 * stages_of(contract, case.config) + 1))
    for size, tile, most in limits:
        length, extent = values.get(size), constants.get(tile, values.get(tile))
        if isinstance(length, int) and isinstance(extent, int) and extent > 0:
            values[size] = length - max(0, cdiv(length, extent) - most) * extent
            if contract.contracted == (size, tile):
                trips = cdiv(length - max(0, cdiv(length, extent) - most) * extent, extent)
    return replace(case, values=tuple(values.items()), trips=trips)


def explain(
    conversion: Conversion, number: int, progress: Callable[[str], None], cases: Sequence[Case] | None = None
) -> tuple[str, list[Evidence]]:
    """What was simulated, in words, and what was found.

    Args:
        conversion: its module is imported and run here.
        number: which of the launches on the GPU (`cases_of`) went wrong.
        progress: called with a line before the launch is simulated.
        cases: what was launched instead of those.
    """
    simulation = Simulation(load(conversion))
    case = (cases_of(conversion) if cases is None else cases)[number]
    small = replace(cut_down(conversion.contract, case), path="any", schedules=ALL_SCHEDULES)
    progress(f"simulating {small}")
    simulation.run(small)
    tally = simulation.tally
    launch = "the same launch" if small.values == case.values else f"the same launch cut down to {small}"
    if tally.source_fails:
        return f"{launch}: the source itself fails there: {tally.source_fails.splitlines()[0]}", []
    if not tally.specialized:
        return f"{launch}: the original would run", []
    return f"{launch}, {tally.runs} schedules", list(tally.findings.values())
