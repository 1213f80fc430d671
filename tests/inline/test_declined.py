"""What cannot be written out is declined, where it stands."""

from __future__ import annotations

import pytest

from tlxify.diagnostics import Decline
from tlxify.inline import written_out
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

HEAD = "import triton\nimport triton.language as tl\n\n"
KERNEL = """
@triton.jit
def kernel(a_ptr, K, BLOCK: tl.constexpr):
    x = tl.load(a_ptr + tl.arange(0, BLOCK)[:, None] + tl.arange(0, BLOCK)[None, :])
    {call}
    tl.store(a_ptr, tl.sum(x))
"""


@pytest.mark.parametrize(
    ("helper", "call", "code", "place", "what"),
    [
        ("def f(x):\n    return f(tl.dot(x, x))", "x = f(x)", "TLX106", "f(tl.dot(x, x))", "`f` calls itself"),
        (
            "def g(x):\n    return f(x)\n\n@triton.jit\ndef f(x):\n    x = tl.dot(x, x)\n    return g(x)",
            "x = f(x)", "TLX106", "f(x)", "`f` calls itself",
        ),
        ("def f(*x):\n    return tl.dot(x[0], x[0])", "x = f(x)", "TLX104", "f(x)", "with starred parameters"),
        ("def f(x):\n    return tl.dot(x, x)", "x = f(*x)", "TLX104", "f(*x)", "with starred arguments"),
        ("def f(x, y):\n    return tl.dot(x, y)", "x = f(x)", "TLX104", "f(x)", "with no argument `y`"),
        (
            "def f(x, n):\n    for i in range(n):\n        if i == 1:\n            return tl.dot(x, x)\n    return x",
            "x = f(x, K)", "TLX104", "return tl.dot(x, x)", "a `return` inside a loop of the helper `f`",
        ),
        (
            "def f(x, n):\n    if n > 1:\n        if n > 2:\n            return tl.dot(x, x)\n        x += 1\n"
            "    x += 2\n    return x",
            "x = f(x, K)", "TLX104", "return tl.dot(x, x)", "a `return` inside nested branches of the helper `f`",
        ),
        (
            "def f(x):\n    return tl.sum(tl.dot(x, x))",
            "while f(x) > 1:\n        x = x * 2", "TLX104", "f(x)", "the helper `f` in the condition of a `while`",
        ),
        (
            "def f(p, x):\n    tl.store(p, 1)\n    return tl.dot(x, x)",
            "x = tl.load(a_ptr) + f(a_ptr, x)", "TLX104", "f(a_ptr, x)", "the helper `f`, which stores, inside",
        ),
        (
            "def f(x):\n    return tl.sum(tl.dot(x, x))",
            "x = x * (1 if f(x) > 0 and f(x) < 5 else 2)", "TLX104", "f(x)", "a part of an expression that may not run",
        ),
        (
            "def f(x):\n    TWICE: tl.constexpr = 2\n    return tl.dot(x, x) * TWICE",
            "for i in tl.static_range(BLOCK):\n        x = f(x)", "TLX104", "f(x)",
            "declares constants, in `tl.static_range`",
        ),
        (
            "def f(x, n):\n    return tl.dot(x, x) * min(n, 2)",
            "min = 3\n    x = f(x, min)", "TLX105", "f(x, min)", "the builtin `min` that it reads",
        ),
    ],
)  # fmt: skip
def test_where_it_stands(helper, call, code, place, what):
    source = SourceFile("kernel.py", f"{HEAD}@triton.jit\n{helper}\n\n{KERNEL.format(call=call)}")
    kernel = next(k for k in find_kernels(parse_module(source)) if k.name == "kernel")
    with pytest.raises(Decline) as caught:
        written_out(kernel)
    found = caught.value.diagnostic
    assert found.code == code
    assert what in found.message
    assert source.segment(found.span) == place


def test_helpers_that_multiply_end_somewhere():
    text = HEAD + "@triton.jit\ndef f0(x):\n    return tl.dot(x, x)\n\n"
    for n in range(1, 12):
        text += f"@triton.jit\ndef f{n}(x):\n    return f{n - 1}(f{n - 1}(x))\n\n"
    source = SourceFile("kernel.py", text + KERNEL.format(call="x = f11(x)"))
    kernel = next(k for k in find_kernels(parse_module(source)) if k.name == "kernel")
    with pytest.raises(Decline, match="more than 400 calls of helpers"):
        written_out(kernel)
