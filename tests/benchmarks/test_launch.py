"""How the cost of a launch is measured: every contender in every round, in an order that no one can profit from."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from benchmarks import launch

pytestmark = [pytest.mark.torch, pytest.mark.triton]


def taken(seed, monkeypatch, rounds=40):
    order = []

    def per_launch(launched, kernel, problems, count, synchronize):
        order.append(kernel)
        return float(len(order))

    monkeypatch.setattr(launch, "per_launch", per_launch)
    contenders = {name: (name, object, 1) for name in ("a", "b", "c")}
    found = launch.in_rounds(print, contenders, print, random.Random(seed), rounds)
    assert {name: len(values) for name, values in found.items()} == {"a": rounds, "b": rounds, "c": rounds}
    rest = order[3:]  # after one of each to warm up
    return [tuple(rest[at : at + 3]) for at in range(0, len(rest), 3)]


def test_each_round_has_an_order_of_its_own(monkeypatch):
    orders = taken(0, monkeypatch)
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert len(set(orders)) == 6
    assert taken(0, monkeypatch) == orders
    assert taken(1, monkeypatch) != orders


def test_figures_are_medians_quartiles_and_differences_within_rounds():
    found = launch.summary({"stock": [1.0, 2.0, 3.0, 10.0, 5.0], "ours": [1.5, 2.5, 3.5, 9.0, 5.5]}, "ours", "stock")
    assert (found["stock_us"], found["ours_us"]) == (3.0, 3.5)
    assert found["stock_quartiles_us"] == [1.5, 7.5]
    assert found["added_us"] == 0.5
    assert (found["rounds"], found["rounds_slower"]) == (5, 4)
