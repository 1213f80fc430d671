"""Every converted case runs in the simulator and agrees with its source: late, and in one seeded order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.golden import needs_block_pointers
from tests.test_cases import CONVERTED, name, outcome

pytestmark = pytest.mark.triton

#: Kinds of launches, by the beginning of their names: as deep as the ring and deeper, ragged, and without a trip.
KINDS = ("4 trips", "two tiles each way", "sizes", "ragged", "0 trips")


def launches(contract, kinds=KINDS):
    """The first launch of each kind."""
    from tlxify.verify.inputs import edge_cases

    every = edge_cases(contract)
    first = [next((case for case in every if case.name.startswith(kind)), None) for kind in kinds]
    return [replace(case, schedules=("late", 0)) for case in first if case is not None]


@pytest.mark.parametrize("case", CONVERTED, ids=name)
def test_simulated(case):
    from tlxify.verify.simulate import simulate

    needs_block_pointers(case.source)
    _, kernel = outcome(case)
    tally = simulate(kernel.conversion, cases=launches(kernel.contract))
    assert not tally.source_fails
    assert not tally.findings, [f"{evidence.text}: {evidence.detail}" for evidence in tally.findings.values()]
    assert tally.specialized >= 2
    assert tally.compared >= 2
