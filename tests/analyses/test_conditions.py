"""Comparisons of scalars: which are certainly of integers."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of

LOADED = "n = tl.load(c_ptr)\n"


@pytest.mark.parametrize(
    ("before", "test", "integers"),
    [
        ("", "pid * TM >= M", True),
        (LOADED, "pid >= n", True),
        (LOADED, "n > 0", False),
        (LOADED + "for t in range(0, n):\n    pass\n", "n > 0", True),
        (LOADED + "x = tl.load(a_ptr + n + i)\n", "n >= K", False),
        (LOADED + "x = tl.load(a_ptr + n * sm + i, mask=i < K)\n", "n >= K", True),
        ("", "K // 2 > TM", True),
        ("", "M > 0", False),
        (LOADED, "n / 2 > TM", False),
    ],
)
def test_integers(before, test, integers):
    facts = facts_of(f"{before}if {test}:\n    y = 1")
    found = next(comparison for comparison in facts.comparisons if comparison.text == test)
    assert found.integers is integers
