"""A slice holds a kernel, what it needs of its module, and nothing else."""

from __future__ import annotations

import ast

import pytest

from tlxify.diagnostics import Decline
from tlxify.parse.kernels import build_kernel
from tlxify.parse.module import parse_module
from tlxify.slice import cut
from tlxify.source import SourceFile

SOURCE = '''\
"""A module that cannot be imported here."""

import package_that_is_not_installed
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language import float32 as f32

SCALE: tl.constexpr = 2
UNUSED = 3
COMPUTED = package_that_is_not_installed.size()
WIDE = 4

if True:

    @triton.jit
    def inner(x):
        # as it was written

        return x * SCALE


@triton.jit
def outer(x):
    return inner(x) + WIDE


@triton.jit
def unused(x):
    return x


@triton.autotune(configs=[], key=[])
@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = libdevice.exp(tl.load(x_ptr + offsets, mask=offsets < n))
    tl.store(x_ptr + offsets, outer(x).to(f32), mask=offsets < min(n, 7))
'''


def sliced(text=SOURCE):
    module = parse_module(SourceFile("k.py", text))
    return cut(build_kernel(module, module.helpers["kernel"].node))


def test_helpers_constants_and_imports_come_along():
    found = sliced()
    assert found.imports == (
        "from triton.language import float32 as f32",
        "from triton.language.extra import libdevice",
        "import triton",
        "import triton.language as tl",
    )
    assert found.constants == ("SCALE: tl.constexpr = 2", "WIDE = 4")
    assert [ast.parse(helper).body[0].name for helper in found.helpers] == ["inner", "outer"]
    assert found.tl == "tl"


def test_texts_stand_at_the_left_margin_under_jit_alone():
    found = sliced()
    assert found.helpers[0] == "@triton.jit\ndef inner(x):\n    # as it was written\n\n    return x * SCALE"
    assert found.kernel.startswith("@triton.jit\ndef kernel(x_ptr, n, BLOCK: tl.constexpr):\n    offsets")
    assert "autotune" not in found.text(found.kernel)


def test_the_module_defines_every_name_it_reads():
    found = sliced()
    tree = ast.parse(found.text(found.kernel))
    compile(tree, "slice", "exec")
    bound = {
        alias.asname or alias.name.split(".")[0]
        for n in ast.walk(tree)
        if isinstance(n, ast.Import | ast.ImportFrom)
        for alias in n.names
    }
    bound |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    assert read - bound == {"min"}


def test_a_name_known_only_at_run_time_is_declined_where_it_stands():
    text = SOURCE.replace("+ WIDE", "+ COMPUTED")
    with pytest.raises(Decline) as refusal:
        sliced(text)
    diagnostic = refusal.value.diagnostic
    assert (diagnostic.code, dict(diagnostic.facts)["name"]) == ("TLX107", "COMPUTED")
    assert text.splitlines()[diagnostic.span.line - 1] == "    return inner(x) + COMPUTED"


def test_a_module_without_an_alias_gets_none():
    text = "import triton\n\n@triton.jit\ndef kernel(x_ptr):\n    triton.language.store(x_ptr, 1)\n"
    found = sliced(text)
    assert found.tl == "triton.language"
    assert found.imports == ("import triton", "import triton.language")
