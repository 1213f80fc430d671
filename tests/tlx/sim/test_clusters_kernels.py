"""The hand-written kernels for clusters and Blackwell are clean and right on every schedule."""

import numpy as np
import pytest

import tlx

from .kernels.multicast_gemm import multicast_gemm
from .kernels.tensor_gemm import tensor_gemm
from .launch import SCHEDULES, descriptor, padded


def check(kernel, grid, a, b, tiles, constants, schedule):
    c = np.full((a.shape[0], b.shape[1]), np.nan, np.float16)
    args = [descriptor(array, tile) for array, tile in zip((a, b, c), tiles, strict=True)]
    tlx.sim.run(kernel, grid, args, constants, schedule=schedule).raise_for_findings()
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_multicast(schedule):
    rng = np.random.default_rng(0)
    constants = {"K": 112, "STAGES": 3, "ROWS": 16, "COLS": 32, "ctas_per_cga": (2, 1, 1)}
    tiles = [16, 16], [16, 16], [16, 32]
    check(multicast_gemm, (2, 1), padded(rng, 32, 112), padded(rng, 112, 32), tiles, constants, schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ctas", [1, 2])
def test_tensor_memory(schedule, ctas):
    rng = np.random.default_rng(0)
    constants = {
        "M": 64, "N": 64, "K": 80, "STAGES": 3, "BUFFERS": 2, "ROWS": 16, "COLS": 32, "DEPTH": 16, "PROGRAMS": 2,
        "CTAS": ctas, "ctas_per_cga": (ctas, 1, 1),
    }  # fmt: skip
    tiles = [16, 16], [16, 32 // ctas], [16, 32]
    check(tensor_gemm, (2,), padded(rng, 64, 80), padded(rng, 80, 64), tiles, constants, schedule)
