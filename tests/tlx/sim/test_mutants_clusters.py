"""Breaks of kernels for clusters and Blackwell: each is noticed, or on the list of those that change nothing."""

import inspect

import numpy as np
import pytest

import tlx

from .kernels import multicast_gemm, tensor_gemm
from .launch import descriptor, padded
from .mutation import load, mutants

SCHEDULES = ("late", "eager", 0)


def outcome(kernel, grid, operands, constants, schedule):
    """Whether a run finds nothing and has the right result."""
    a, b, tiles = operands
    c = np.full((a.shape[0], b.shape[1]), np.nan, np.float16)
    args = (descriptor(a, tiles[0]), descriptor(b, tiles[1]), descriptor(c, tiles[2]))
    try:
        report = tlx.sim.run(kernel, grid, args, constants, schedule=schedule, max_steps=20000)
    except tlx.sim.SimulationError:
        return False
    return report.ok and np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)


def multicast(kernel, schedule):
    rng = np.random.default_rng(0)
    operands = padded(rng, 32, 112), padded(rng, 112, 32), ([16, 16], [16, 16], [16, 32])
    constants = {"K": 112, "STAGES": 3, "ROWS": 16, "COLS": 32, "ctas_per_cga": (2, 1, 1)}
    return outcome(kernel, (2, 1), operands, constants, schedule)


def tensor(ctas):
    def run(kernel, schedule):
        rng = np.random.default_rng(0)
        operands = padded(rng, 64, 80), padded(rng, 80, 64), ([16, 16], [16, 32 // ctas], [16, 32])
        constants = {
            "M": 64, "N": 64, "K": 80, "STAGES": 3, "BUFFERS": 2, "ROWS": 16, "COLS": 32, "DEPTH": 16, "PROGRAMS": 2,
            "CTAS": ctas, "ctas_per_cga": (ctas, 1, 1),
        }  # fmt: skip
        return outcome(kernel, (2,), operands, constants, schedule)

    return run


#: name → module, kernel, what runs it
KERNELS = {
    "multicast": (multicast_gemm, "multicast_gemm", multicast),
    "tensor memory": (tensor_gemm, "tensor_gemm", tensor(1)),
    "tensor memory, two CTAs": (tensor_gemm, "tensor_gemm", tensor(2)),
}

#: kernel → break → why nothing is to be noticed
SURVIVORS: dict[str, dict[str, str]] = {
    "tensor memory": dict.fromkeys(
        (
            "delete barrier_wait, line 54",
            "delete barrier_arrive, line 53",
            "flip the phase of barrier_wait, line 54",
            "arrive at home, line 53",
            "one arrival more, line 23",
        ),
        "dead code: only a pair of CTAs uses that barrier",
    ),
}

CASES = [
    (kernel, mutant) for kernel, (module, _, _) in KERNELS.items() for mutant in mutants(inspect.getsource(module))
]


@pytest.mark.parametrize("name", KERNELS)
def test_the_original_survives(name, tmp_path):
    module, kernel, run = KERNELS[name]
    assert all(run(load(inspect.getsource(module), kernel, tmp_path), schedule) for schedule in SCHEDULES)


@pytest.mark.parametrize(("name", "mutant"), CASES)
def test_mutants_die(name, mutant, tmp_path):
    module, kernel, run = KERNELS[name]
    broken = load(mutants(inspect.getsource(module))[mutant], kernel, tmp_path)
    survived = [schedule for schedule in SCHEDULES if run(broken, schedule)]
    assert bool(survived) == (mutant in SURVIVORS.get(name, {})), f"not noticed on {survived}"
