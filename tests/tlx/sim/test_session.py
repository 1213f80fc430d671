"""A session keeps Triton patched over many runs, which makes short ones cheaper."""

import numpy as np
import pytest
import triton
import triton.language as tl

import tlx


@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


def run():
    x, out = np.arange(8), np.zeros(8, np.int64)
    tlx.sim.run(double, (1,), (x, out), {"BLOCK": 8}).raise_for_findings()
    np.testing.assert_array_equal(out, 2 * x)


def patched():
    try:
        double(1, 2, 3)
    except RuntimeError:
        return False
    except Exception:
        return True
    return True


def test_nested_sessions_end_with_the_outermost():
    with tlx.sim.session():
        run()
        with tlx.sim.session():
            run()
        assert patched()
        run()
    assert not patched()


def test_an_error_ends_the_session():
    with pytest.raises(KeyError), tlx.sim.session():
        raise KeyError
    assert not patched()
    run()
