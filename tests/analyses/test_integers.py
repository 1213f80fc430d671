"""Which parameters hold integers."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tlxify.analyses.integers import integers


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("x = tl.program_id(0) * p", {"p"}),
        ("x = q // p", {"p", "q"}),
        ("for i in range(p): pass", {"p"}),
        ("x = tl.maximum(M - p, 0)", {"p"}),
        ("x = tl.program_id(0) * p\nwhile x < q: x += 1", {"p", "q"}),
        ("i = tl.program_id(0)\nx = i + p", {"p"}),
        ("acc = tl.zeros((64,), tl.float32)\nx = acc * p", set()),
        ("acc = tl.dot(a, b)\nx = acc * p + M", set()),
        ("x = p * 0.5", set()),
        ("x = 2 * p", set()),
        ("x = M * eps / p", set()),
        ("i = tl.program_id(0)\ni = tl.load(a)\nx = i * p", set()),
        ("i, f = 1, 2.0\nx = i // p\ny = f * q", {"p"}),
    ],
)
def test_integers(body, found):
    kernel = ast.parse("def kernel():\n" + textwrap.indent(body, "    "))
    assert integers(kernel, {"M"}, {"p", "q"}) == found
