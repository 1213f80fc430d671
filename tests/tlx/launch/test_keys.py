"""The memory for launches: what counts as the same, how much is kept, and threads."""

import threading

import pytest
import triton

import tlx.launch as launch
from tests.tlx.launch import kernels
from tests.tlx.launch.fakes import BF16, TILES, Memory, grid_of, operands
from tlx.launch.keys import LaunchCache


class Decisions:
    """Counts how often something had to be decided."""

    def __init__(self, capacity=4):
        self.cache = LaunchCache(capacity)
        self.count = 0

    def ask(self, *args, device=0, **kwargs):
        return self.cache.get(args, kwargs, device, self.decide)

    def decide(self, args, kwargs):
        self.count += 1
        return self.count


def test_the_same_launch_is_decided_once():
    decisions = Decisions()
    assert [decisions.ask(Memory(64), 3, "x", flag=True) for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((Memory(128), 3), {}),
        ((Memory(64, dtype=BF16), 3), {}),
        ((Memory(64), 4), {}),
        ((Memory(64), 3.0), {}),
        ((Memory(64), True), {}),
        ((64, 3), {}),
        ((None, 3), {}),
        ((Memory(64),), {"size": 3}),
        ((Memory(64), 3), {"device": 1}),
        ((Memory(64), 3), {"size": 3}),
    ],
)
def test_another_launch_is_another_decision(args, kwargs):
    decisions = Decisions()
    assert decisions.ask(Memory(64), 3) != decisions.ask(*args, **kwargs)
    assert decisions.ask(Memory(64), 3) == 1


@pytest.mark.parametrize("by_name", [False, True])
def test_the_sign_of_zero_counts(by_name):
    decisions = Decisions()
    found = [decisions.ask(Memory(64), x=x) if by_name else decisions.ask(Memory(64), x) for x in (0.0, -0.0, 0.0)]
    assert found == [1, 2, 1]


def test_the_sign_of_zero_counts_in_what_heuristics_say(bench):
    """They may go by what the description of a launch does not tell."""
    zeros = iter((0.0, -0.0))
    kernel = bench.bind(triton.heuristics({"ACTIVATION": lambda named: next(zeros)}))
    args = operands()
    for _ in range(2):
        kernel[grid_of](*args, **TILES)
    assert [str(entry.arguments["ACTIVATION"]) for entry in bench.log] == ["0.0", "-0.0"]


def test_names_of_keywords_count():
    decisions = Decisions()
    assert decisions.ask(a=1, b=2) != decisions.ask(b=1, a=2)


@pytest.mark.parametrize("odd", [[1], (Memory(64),), object()])
def test_what_has_no_value_of_its_own_is_never_remembered(odd):
    decisions = Decisions()
    assert [decisions.ask(odd), decisions.ask(odd)] == [1, 2]
    assert len(decisions.cache) == 0


def test_memory_is_bounded_and_keeps_what_is_used():
    decisions = Decisions(capacity=4)
    for size in range(4):
        decisions.ask(size)
    decisions.ask(0)
    for size in range(10, 13):
        decisions.ask(size)
    assert len(decisions.cache) == 4
    before = decisions.count
    decisions.ask(0)
    assert decisions.count == before
    decisions.ask(1)
    assert decisions.count == before + 1


def test_threads_get_their_own_arguments(bench):
    kernel = bench.bind()
    problems = [operands(M=128 * (1 + index), base=(1 + index) << 26) for index in range(8)]
    wrong = []

    def work(args):
        for _ in range(50):
            found = kernel.resolve(*args, grid=grid_of, **TILES)
            kernel[grid_of](*args, **TILES)
            if found.kwargs["c_ptr"] is not args[2] or found.kwargs["GRID_0"] != args[3] // 128 * 4:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(args,)) for args in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    snapshot = launch.stats()[f"{kernels.__name__}.matmul"]
    assert (snapshot.launches, snapshot.fast, snapshot.share) == (400, 400, 1.0)
    for entry in bench.log:
        assert entry.arguments["c_ptr"].data_ptr() - entry.arguments["a_desc"].base.data_ptr() == 2 << 22
        assert entry.arguments["a_desc"].shape[0] == entry.arguments["M"]
