"""Verdicts on what kernels keep in local memory, and the launches that are compiled for them."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from benchmarks.tutorials.blackwell import LAUNCHES
from benchmarks.tutorials.spills import Memory, verdict

pytestmark = pytest.mark.triton


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        (Memory(168, 0, 0), [Memory(255, 0, 0)], "no more"),
        (Memory(168, 40, 18), [Memory(168, 24, 12), Memory(168, 40, 18)], "no more"),
        (Memory(168, 48, 18), [Memory(168, 24, 12), Memory(168, 40, 18)], "more"),
        (Memory(168, 8, 5), [Memory(168, 8, 4)], "no more, used more"),
        (Memory(168, 8, 2), [Memory(168, 0, 0)], "more"),
        # Less stack but more accesses than one, more stack but fewer accesses than the other.
        (Memory(168, 8, 20), [Memory(168, 16, 10), Memory(168, 0, 30)], "no more, used more"),
        (None, [Memory(168, 0, 0)], "does not compile"),
        (Memory(168, 0, 0), [], "nothing to compare with"),
    ],
)
def test_verdict(ours, theirs, says):
    assert verdict(ours, theirs) == says


def test_launches_have_names_of_their_own_and_give_every_type():
    assert len({launch["case"] for launch in LAUNCHES}) == len(LAUNCHES)
    for launch in LAUNCHES:
        assert not launch["signature"].keys() & launch["constexprs"].keys()
        assert set(launch["divisible"]) <= launch["signature"].keys()
