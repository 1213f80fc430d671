"""What a kernel takes for granted is no fault of its source: a launch that contradicts it is none."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tlx.sim


@triton.jit
def assumes(out, n, SIZE: tl.constexpr):
    tl.static_assert(SIZE > 1)
    tl.assume(n > 1)
    tl.store(out, n)


@pytest.mark.parametrize(("n", "size", "holds"), [(2, 2, True), (1, 2, False), (2, 1, False)])
def test_assumptions(n, size, holds):
    out = np.zeros(1, np.int32)

    def launch():
        return tlx.sim.run(assumes, (1,), (tlx.sim.tensor(out), n, size))

    if holds:
        assert not launch().findings
        assert out[0] == n
        return
    with pytest.raises(tlx.sim.AssumptionError):
        launch()
