"""Which names may hold integers of 64 bits."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import kernel_of
from tlxify.analyses.widths import wide_names


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("batch = tl.program_id(2)\nrow = batch * TM", set(), id="grid positions are 32 bits wide"),
        pytest.param("batch = tl.program_id(2).to(tl.int64)\nrow = batch * TM", {"batch", "row"}, id="cast"),
        pytest.param("batch = tl.cast(pid, tl.int64)", {"batch"}, id="cast as a function"),
        pytest.param("batch = tl.program_id(2).to(tl.int64)\nrow = batch.to(tl.int32)", {"batch"}, id="cast back"),
        pytest.param("first = tl.load(a_ptr + pid)\nother = first > 0", {"first"}, id="loaded, compared"),
        pytest.param("p = pid.to(tl.int64)\nx, y = p // M, pid % M", {"p", "x"}, id="several at once"),
        pytest.param("n = tl.load(a_ptr)\nfor i in range(0, n):\n    n2 = i + 1", {"n", "i", "n2"}, id="loop bounds"),
        pytest.param("x = pid\nfor i in range(0, K):\n    x += tl.load(a_ptr + i)", {"x"}, id="accumulated"),
        pytest.param(
            "x = pid\nfor i in range(0, K):\n    y = x\n    x = pid.to(tl.int64)", {"x", "y"}, id="from turn to turn"
        ),
    ],
)
def test_wide_names(body, expected):
    assert wide_names(kernel_of(body).body) == expected
