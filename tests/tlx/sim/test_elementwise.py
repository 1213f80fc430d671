"""``tl.map_elementwise``: functions of scalars, with branches and without."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tlx


@triton.jit
def distance(x, y):
    return tl.abs(x - y)


@triton.jit
def branching(x, y):
    if x > y:
        return x * 2.0, y
    return y, x


@triton.jit
def apply(x, out, SIZE: tl.constexpr, BRANCH: tl.constexpr, PACK: tl.constexpr):
    rows, cols = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    tile = tl.load(x + rows * SIZE + cols)
    if BRANCH:
        first, second = tl.map_elementwise(branching, tile, 0.5 + 0.0 * cols)
        tl.store(out + rows * SIZE + cols, first + 10 * second)
    else:
        tl.store(out + rows * SIZE + cols, tl.map_elementwise(distance, tile, 0.5 + 0.0 * cols, pack=PACK))


@pytest.mark.parametrize("branch", [False, True])
def test_every_element(branch):
    x = np.random.default_rng(0).random((8, 8), np.float32)
    out = np.zeros_like(x)
    tlx.sim.run(apply, (1,), (x, out, 8, branch, 1)).raise_for_findings()
    half = np.float32(0.5)
    wanted = np.where(x > half, x * 2 + 10 * half, half + 10 * x) if branch else np.abs(x - half)
    np.testing.assert_allclose(out, wanted, rtol=1e-6)


def test_packs_are_refused():
    x = np.zeros((8, 8), np.float32)
    with pytest.raises(tlx.sim.SimulationError, match="pack=1 only"):
        tlx.sim.run(apply, (1,), (x, x, 8, False, 2))
