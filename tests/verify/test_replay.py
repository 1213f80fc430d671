"""A launch as one line of JSON, and launches drawn and shrunk."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tlxify.verify.cases import Case
from tlxify.verify.inputs import edge_cases
from tlxify.verify.replay import case_of, token
from tlxify.verify.shrink import MOST, shrunk

from . import samples

CONTRACT = samples.CONTRACT
CASES = [case for case in edge_cases(CONTRACT) if case.path != "original"]


@pytest.mark.parametrize("schedule", ["late", "eager", 3])
def test_a_line_says_the_whole_launch(schedule):
    for case in CASES:
        again = case_of(token(case, schedule), CONTRACT)
        assert again.schedules == (schedule,)
        assert "rows" not in dict(again.layouts).values()
        same = replace(again, name=case.name, path=case.path, schedules=case.schedules)
        layouts = tuple(pair for pair in case.layouts if pair[1] != "rows")
        assert same == replace(case, layouts=layouts)


def test_what_is_usual_is_left_out():
    case = Case("any", 0, (("M", 3),))
    assert json.loads(token(case)) == {"values": {"M": 3}}
    assert json.loads(token(replace(case, config=1, data="ones"), 7)) == {
        "config": 1,
        "values": {"M": 3},
        "data": "ones",
        "schedule": 7,
    }


SIZES = '"M": 3, "N": 3, "K": 4, "ACTIVATION": ""'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object with the keys config, values"),
        ('{"size": 3}', "unknown key 'size'; allowed are config, values"),
        ('{"config": 9}', "config is 9; allowed are 0 to 1"),
        ('{"config": true}', "config is True"),
        ('{"values": 3}', "values is 3"),
        ('{"values": {"Q": 3}}', "values names 'Q'; this kernel has ACTIVATION"),
        ('{"layouts": {"a_ptr": "diagonal"}}', "layouts.a_ptr is 'diagonal'; allowed are rows"),
        ('{"layouts": {"x": "rows"}}', "layouts names 'x'"),
        ('{"data": "odd"}', "data is 'odd'; allowed are normal"),
        ('{"schedule": "soon"}', "schedule is 'soon'; allowed are 'late'"),
        ('{"dtype": 900}', "dtype is 900; allowed are 0 to 1"),
        ("{}", "values lacks M, N, K, ACTIVATION; a launch has a number for each of them"),
        ('{"values": {}}', "values lacks M, N, K, ACTIVATION"),
        ('{"values": {"M": 3, "K": 4, "ACTIVATION": ""}}', "values lacks N; "),
        (f'{{"values": {{{SIZES}, "N": "x"}}}}', "values.N is 'x'; allowed: a whole number that is not negative"),
        (f'{{"values": {{{SIZES}, "N": -1}}}}', "values.N is -1; allowed: a whole number that is not negative"),
        (f'{{"values": {{{SIZES}, "N": true}}}}', "values.N is True"),
        (f'{{"values": {{{SIZES}, "N": 2.0}}}}', "values.N is 2.0"),
        (f'{{"values": {{{SIZES}, "ACTIVATION": "gelu"}}}}', "values.ACTIVATION is 'gelu'; allowed: '', 'relu'"),
        (f'{{"values": {{{SIZES}, "BLOCK_M": 64}}}}', "values.BLOCK_M is 64, but config 0 sets it; tiles may"),
        (f'{{"values": {{{SIZES}}}, "tiles": {{"BLOCK_M": 33}}}}', "tiles.BLOCK_M is 33; allowed: a power of two"),
        (f'{{"values": {{{SIZES}}}, "tiles": {{"BLOCK_M": "a"}}}}', "tiles.BLOCK_M is 'a'; allowed: a power of two"),
        (f'{{"values": {{{SIZES}}}, "tiles": {{"M": 16}}}}', "tiles names 'M'; this kernel has BLOCK_K, BLOCK_M"),
        (f'{{"values": {{{SIZES}}}, "zeroed": "q"}}', "zeroed is 'q'; allowed are 'M', 'N', 'K', None"),
    ],
)
def test_what_cannot_be_read_names_key_and_what_is_allowed(text, why):
    with pytest.raises(ValueError, match=why):
        case_of(text, CONTRACT)


def test_shrinking_finds_the_smallest_that_still_fails():
    start = next(case for case in CASES if case.name == "special data")

    def fails(case: Case) -> bool:
        values = dict(case.values)
        return values["K"] > 20 and values["N"] >= 3 and case.layout("b_ptr") == "padded"

    assert fails(start)
    least = shrunk(CONTRACT, start, fails)
    assert dict(least.values) == {**dict(start.values), "M": 1, "N": 3, "K": 21}
    assert least.layouts == (("b_ptr", "padded"),)
    assert (least.data, least.dtype, least.trips) == ("normal", 0, 2)


def test_shrinking_ends_and_repeats_nothing():
    tried: list[Case] = []

    def fails(case: Case) -> bool:
        tried.append(case)
        return len(tried) % 3 == 0

    shrunk(CONTRACT, CASES[0], fails)
    assert len(tried) <= MOST
    assert len(set(tried)) == len(tried)


def test_launches_are_for_users_and_the_same_every_time():
    from hypothesis import given, settings

    from tlxify.verify.strategies import Launch, launches

    def drawn() -> list[str]:
        seen: list[str] = []

        @settings(max_examples=20, deadline=None, derandomize=True, database=None)
        @given(launches(CONTRACT))
        def check(launch: Launch) -> None:
            assert set(launch.tensors) == {"a_ptr", "b_ptr", "c_ptr"}
            assert launch.tensors["a_ptr"].shape == (launch.scalars["M"], launch.scalars["K"])
            assert set(launch.constants) == {"BLOCK_M", "BLOCK_N", "BLOCK_K"}
            assert all(extent > 0 for extent in launch.grid)
            assert case_of(launch.token, CONTRACT).config == launch.case.config
            seen.append(launch.token)

        check()
        return seen

    first = drawn()
    assert first == drawn()
    assert len(set(first)) > 10
    fields = [json.loads(one) for one in first]
    assert {one.get("dtype", 0) for one in fields} == {0, 1}
    assert len({tuple(one.get("layouts", {}).items()) for one in fields}) > 2
    assert {one["values"]["ACTIVATION"] for one in fields} == {"", "relu"}


def test_a_failing_launch_of_a_users_test_is_small():
    from hypothesis import find, settings

    from tlxify.verify.strategies import launches

    few = settings(max_examples=100, derandomize=True, database=None)
    least = find(launches(CONTRACT), lambda launch: launch.scalars["K"] > 33 and launch.grid[0] > 1, settings=few)
    values = dict(least.case.values)
    assert values["K"] == 34
    assert sorted((values["M"], values["N"])) in ([1, 17], [1, 33])
    assert (least.case.config, least.case.data) == (0, "normal")


def test_launches_keep_to_the_contract():
    from hypothesis import given, settings

    from tlxify.verify.strategies import Launch, launches

    tensors = (replace(CONTRACT.tensors[0], layouts=("padded",)), *CONTRACT.tensors[1:])
    contract = replace(CONTRACT, tensors=tensors, bounds=(("M", 5, 40), ("K", 8, None)), multiples=(("N", "8"),))

    @settings(max_examples=20, deadline=None, derandomize=True, database=None)
    @given(launches(contract))
    def check(launch: Launch) -> None:
        assert 5 <= launch.scalars["M"] <= 40
        assert launch.scalars["K"] >= 8
        assert launch.scalars["N"] % 8 == 0
        assert launch.case.layout("a_ptr") == "padded"

    check()
    for case in edge_cases(contract):
        values = dict(case.values)
        assert 5 <= values["M"] <= 40
        assert values["K"] >= 8
        assert values["N"] % 8 == 0
        assert case.layout("a_ptr") == "padded"
        assert case.zeroed is None
