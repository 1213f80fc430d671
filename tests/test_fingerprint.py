"""The fingerprint read off the text is the one that the launcher computes from the live kernel."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types

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


PACKAGE = {
    "__init__": "from .ops import scale as times\nfrom .ops import *\n",
    "ops": """
import os
import triton
import triton.language as tl
from . import sizes as s

exp = tl.exp
FACTOR = tl.constexpr(1.5)

if os.environ.get("FINGERPRINTED_FAST", "0") == "1":
    @triton.jit
    def scale(x): return x
else:
    @triton.jit
    def scale(x):
        return exp(x) * FACTOR + s.WIDTH.value

@triton.jit
def unused(x):
    return x * s.DEPTH
""",
    "sizes": """
import triton
import triton.language as tl
WIDTH = tl.constexpr(8)
DEPTH = tl.constexpr(9)

@triton.jit
def half(x, by: tl.constexpr = DEPTH):
    from_here = x
    return from_here / by
""",
    "kernels": """
import triton
import triton.language as tl
import fingerprinted_package.sizes
import fingerprinted_package.ops as o
from fingerprinted_package import times, FACTOR as F
from .ops import exp as e

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    x = times(x) + o.scale(e(x)) * o.FACTOR + F
    x = o.s.half(x) + fingerprinted_package.sizes.WIDTH
    tl.store(x_ptr + tl.arange(0, BLOCK), o.exp(x))
""",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name, text in PACKAGE.items():
        path = tmp_path / "fingerprinted_package" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("FINGERPRINTED_FAST", raising=False)
    yield tmp_path / "fingerprinted_package"
    for name in [name for name in sys.modules if name.partition(".")[0] == "fingerprinted_package"]:
        del sys.modules[name]


@pytest.mark.triton
def test_the_launcher_computes_the_same_across_files(package):
    from tlx.launch.fingerprint import fingerprint_of, parts_of

    found = parts(read(package / "kernels.py"))
    names = {name for name, _ in found}
    assert names == {
        *("kernel", "times", "o.scale", "o.FACTOR", "F", "o.s.half", "fingerprinted_package.sizes.WIDTH"),
        *("FACTOR", "s.WIDTH", "DEPTH"),
    }
    module = importlib.import_module("fingerprinted_package.kernels")
    assert found == set(parts_of(module.kernel))
    assert fingerprint(read(package / "kernels.py")) == fingerprint_of(module.kernel)


@pytest.mark.parametrize(
    ("name", "old", "new", "changes"),
    [
        ("ops", "exp(x) * FACTOR", "FACTOR * exp(x)", True),
        ("ops", "constexpr(1.5)", "constexpr(2.5)", True),
        ("ops", "def scale(x): return x\n", "def scale(x): return -x\n", False),
        ("ops", "return x * s.DEPTH", "return x", False),
        ("sizes", "WIDTH = tl.constexpr(8)", "WIDTH = tl.constexpr(16)", True),
        ("sizes", "DEPTH = tl.constexpr(9)", "DEPTH = tl.constexpr(10)", True),
    ],
)
def test_what_changes_it_in_another_file(package, name, old, new, changes):
    before = fingerprint(read(package / "kernels.py"))
    assert old in PACKAGE[name]
    (package / f"{name}.py").write_text(PACKAGE[name].replace(old, new))
    assert (fingerprint(read(package / "kernels.py")) != before) == changes


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


PLATFORM = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr):
    if tl.constexpr(torch.version.hip is not None):
        tl.store(x_ptr, 1)
    else:
        tl.store(x_ptr, 2)
"""


@pytest.mark.triton
@pytest.mark.parametrize(("hip", "same"), [(None, True), ("6.2.41133", False)])
def test_another_platform_is_noticed(hip, same, tmp_path, monkeypatch):
    from tlx.launch.fingerprint import fingerprint_of

    torch = types.ModuleType("torch")
    torch.version = types.ModuleType("torch.version")
    torch.version.hip = hip
    monkeypatch.setitem(sys.modules, "torch", torch)
    path = tmp_path / "asks.py"
    path.write_text(PLATFORM, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("asks", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "asks", module)
    spec.loader.exec_module(module)
    assert (fingerprint(read(path)) == fingerprint_of(module.kernel)) is same
