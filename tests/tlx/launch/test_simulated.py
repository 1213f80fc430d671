"""From a launch of the source to a simulated run of its conversion, with no GPU: guard, descriptors, grid and all."""

import numpy as np
import pytest

import tlx
import tlx.sim
from tests.tlx.launch import gemm
from tests.tlx.launch.fakes import grid_of

pytestmark = pytest.mark.triton

CONFIG = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 8, "num_stages": 3}


def tensor(array, transposed=False):
    return tlx.sim.tensor(np.ascontiguousarray(array.T)).T if transposed else tlx.sim.tensor(array)


@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_a_resolved_launch_runs_in_the_simulator(a_transposed, b_transposed):
    M, N, K = 200, 136, 96
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
    left, right = tensor(a, a_transposed), tensor(b, b_transposed)
    out = tlx.sim.tensor(np.zeros((M, N), np.float16))
    strides = (*left.stride(), *right.stride(), *out.stride())
    found = gemm.bind().resolve(left, right, out, M, N, K, *strides, grid=grid_of, processors=3, config=CONFIG)
    assert (found.path, found.grid, found.kwargs["GRID_0"]) == ("specialized", (3,), 6)
    report = tlx.sim.run(found.kernel, found.grid, (), found.kwargs)
    assert list(report.findings) == []
    np.testing.assert_allclose(out.numpy(), a.astype(np.float32) @ b.astype(np.float32), atol=0.05, rtol=1e-2)
