"""Decorators between a kernel and its name: which of them a launch may go past."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxify.parse.decorators import bypassed
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.source import SourceFile

HEAD = """
import functools
import os
import triton
import triton.language as tl
from triton import autotune as tune, heuristics, jit

CONFIGS = [triton.Config({"B": 64})]
"""
KERNEL = """
@triton.jit
def kernel(x, B: tl.constexpr):
    tl.store(x, B)
"""


def in_the_way(path: Path, definitions: str, decorators: str) -> str | None:
    source = SourceFile(str(path / "kernels.py"), HEAD + definitions + "\n" + decorators + KERNEL)
    (kernel,) = find_kernels(parse_module(source))
    found = bypassed(kernel)
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("definitions", "decorators"),
    [
        ("", ""),
        ("", "@triton.autotune(CONFIGS, key=['B'])\n@triton.heuristics({'B': lambda args: 64})"),
        ("", "@tune(CONFIGS, key=['B'])\n@heuristics({})"),
        ("from flag_gems.utils import libentry, libtuner", "@libentry()\n@libtuner(configs=CONFIGS, key=['B'])"),
        ("from flag_gems import utils", "@utils.libentry()"),
        ("from fla.ops.utils.cache import fla_cache_autotune as tuner", "@tuner(configs=CONFIGS, key=['B'])"),
        ("mine = triton.autotune(CONFIGS, key=['B'])", "@mine"),
        ("if os.environ.get('A'):\n    mine = tune(CONFIGS, key=[])\nelse:\n    mine = heuristics({})", "@mine"),
        ("", "@(triton.autotune(CONFIGS, key=['B']) if os.environ.get('A') else lambda fn: fn)"),
        ("KNOWN = []\ndef mine(fn):\n    KNOWN.append(fn.__name__)\n    return fn", "@mine"),
        ("def mine(fn):\n    return tune(CONFIGS, key=[])(fn) if os.environ.get('A') else fn", "@mine"),
        ("def mine(fn):\n    return tune(CONFIGS, key=[])(heuristics({})(fn))", "@mine"),
        ("def mine(key):\n    return triton.autotune(CONFIGS, key=key)", "@mine(['B'])"),
        ("def mine(name):\n    def register(fn):\n        return fn\n    return register", "@mine('k')"),
    ],
)  # fmt: skip
def test_a_launch_goes_past(tmp_path, definitions, decorators):
    assert in_the_way(tmp_path, definitions, decorators) is None


@pytest.mark.parametrize(
    ("definitions", "decorators"),
    [
        ("class mine:\n    def __init__(self, fn):\n        self.fn = fn", "@mine"),
        ("class W:\n    def __init__(self, fn):\n        self.fn = fn\ndef mine(fn):\n    return W(fn)", "@mine"),
        ("def mine(fn):\n    @functools.wraps(fn)\n    def run(x):\n        fn[1,](x)\n    return run", "@mine"),
        ("def mine(fn):\n    fn.run = print\n    return fn", "@mine"),
        ("def mine(fn):\n    setattr(fn, 'run', print)\n    return fn", "@mine"),
        ("def mine(fn):\n    fn = triton.jit(print)\n    return fn", "@mine"),
        ("def mine(fn):\n    if os.environ.get('A'):\n        return fn\n    return print", "@mine"),
        ("mine = print if os.environ.get('A') else triton.autotune(CONFIGS, key=[])", "@mine"),
        ("def mine(fn):\n    return fn\nif os.environ.get('A'):\n    mine = print", "@mine"),
        ("def mine(a):\n    def other(fn):\n        return a(fn)\n    return other", "@mine(print)"),
        ("def libentry():\n    return print", "@libentry()"),
        ("from elsewhere import mine", "@mine"),
        ("import elsewhere", "@elsewhere.mine(1)"),
        ("", "@functools.cache"),
    ],
)  # fmt: skip
def test_a_launch_must_not_go_past(tmp_path, definitions, decorators):
    assert in_the_way(tmp_path, definitions, decorators) is not None


def test_the_outermost_one_is_named(tmp_path):
    assert in_the_way(tmp_path, "from elsewhere import one, two", "@one\n@two(3)") == "one"


def test_definitions_are_read_in_other_files_of_the_tree(tmp_path):
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "tools.py").write_text(
        "import triton\nfrom .more import kept as handed_on, lost\nmine = triton.autotune([], key=[])\n"
    )
    (tmp_path / "more.py").write_text("def kept(fn):\n    return fn\ndef lost(fn):\n    return Launcher(fn)\n")
    for name, expected in (("mine", None), ("handed_on", None), ("lost", "lost"), ("missing", "missing")):
        assert in_the_way(tmp_path, f"from .tools import {name}", f"@{name}") == expected
