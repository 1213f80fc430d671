"""What is owed by whom to a verdict."""

from __future__ import annotations

from tlxify.verify.cases import DRAWN, Case
from tlxify.verify.tally import Tally


def test_a_config_that_is_only_met_by_chance_owes_no_result():
    tally = Tally()
    tally.took(Case("own tiles", 0, ()))
    tally.took(Case(DRAWN, 0, ()))
    tally.took(Case(DRAWN, 7, ()))
    assert (tally.configs, tally.owing, tally.specialized) == ({0, 7}, {0}, 3)
