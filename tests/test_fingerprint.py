"""The fingerprint read off the text is the one that the launcher computes from the live kernel."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from tlxify.fingerprint import fingerprint, parts
from tlxify.parse.kernels import build_kernel
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

MODULES = {
    "plain": """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, n)
""",
    "constants and helpers through helpers": """
import triton
import triton.language as tl
from triton.language import constexpr

SCALE: tl.constexpr = tl.constexpr(2.5)
NAME = constexpr("gelu")
NEGATIVE = tl.constexpr(-3)
FLAG = tl.constexpr(True)
UNUSED = tl.constexpr(4)

@triton.jit
def inner(x):
    return x * SCALE

@triton.jit
def outer(x, MODE: tl.constexpr = NAME):
    if MODE == "gelu":
        x = inner(x)
    return x + NEGATIVE

@triton.jit
def unused(x):
    return x + UNUSED

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    if FLAG:
        x = outer(x)
    tl.store(x_ptr + tl.arange(0, BLOCK), x)
""",
    "tuned, with comments, blank lines and a decorator of several lines": """
import triton
import triton.language as tl

@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}, num_warps=4),
    ],
    key=["n"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % 64 == 0})
@triton.jit
def kernel(
    x_ptr,  # what it reads
    n,

    BLOCK: tl.constexpr, EVEN: tl.constexpr,
):
    '''Says
       what.'''

    # and why
    offsets = tl.arange(0, BLOCK)   # trailing

    tl.store(x_ptr + offsets, n)  # kept
""".replace("# trailing", ""),
    "recursive helpers under a condition": """
import triton
import triton.language as tl

if True:
    @triton.jit
    def even(n):
        return odd(n - 1)

    @triton.jit
    def odd(n):

        return even(n - 1)

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, even(n))
""",
    "names bound inside, tuples and text that is not ASCII": """
import triton
import triton.language as tl

k = tl.constexpr(3)

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    # Σ über k
    for k in range(n):
        (a, b) = k, n
        tl.store(x_ptr + a, b)
""",
}


@pytest.fixture(params=MODULES)
def file(request, tmp_path):
    path = tmp_path / "fingerprinted.py"
    path.write_text(MODULES[request.param], encoding="utf-8")
    return path


def read(path):
    return kernel_in(SourceFile.read(path))


def kernel_in(source):
    module = parse_module(source)
    return build_kernel(module, module.helpers["kernel"].node)


@pytest.mark.triton
def test_the_launcher_computes_the_same(file, monkeypatch):
    from tlx.launch.fingerprint import fingerprint_of, parts_of

    spec = importlib.util.spec_from_file_location("fingerprinted", file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fingerprinted", module)
    spec.loader.exec_module(module)
    assert parts(read(file)) == set(parts_of(module.kernel))
    assert fingerprint(read(file)) == fingerprint_of(module.kernel)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("x * SCALE", "x * SCALE + 1", True),
        ("constexpr(2.5)", "constexpr(2.0)", True),
        ("tl.arange(0, BLOCK))\n    if", "tl.arange(0, BLOCK))  # why\n    if", True),
        ("x + UNUSED", "x - UNUSED", False),
        ("UNUSED = tl.constexpr(4)", "UNUSED = tl.constexpr(5)", False),
        ("    if FLAG", "\n    if FLAG", False),
    ],
)
def test_what_changes_it(old, new, changes):
    text = MODULES["constants and helpers through helpers"]
    assert old in text

    def of(source):
        return fingerprint(kernel_in(SourceFile("k.py", source)))

    assert len(of(text)) == 16
    assert (of(text) != of(text.replace(old, new))) == changes
