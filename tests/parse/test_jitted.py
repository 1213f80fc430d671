"""Kernels that a plain call makes of a function: `kernel = triton.jit(_kernel)`."""

from __future__ import annotations

import pytest

from tlxify.fingerprint import parts
from tlxify.parse.kernels import enclosed_in, enclosing_views, find_kernels, kernel_named
from tlxify.parse.launches import call_sites, tuner_configs
from tlxify.parse.module import parse_module
from tlxify.slice import cut
from tlxify.source import SourceFile

HEAD = (
    "import triton\nimport triton.language as tl\nfrom triton import jit\nfrom triton.runtime.jit import jit as make\n"
)
PLAIN = "\n\ndef _k(a, b, B: tl.constexpr):\n    i = tl.arange(0, B)\n    tl.store(b + i, tl.load(a + i))\n\n\n"
TUNER = "triton.autotune(configs=[triton.Config({'B': 64}, num_warps=2)], key=[])"


def parsed(text):
    return parse_module(SourceFile("kernel.py", HEAD + text))


def kernels(text):
    return [(kernel.name, kernel.bound) for kernel in find_kernels(parsed(text))]


@pytest.mark.parametrize(
    "call",
    [
        "triton.jit(_k)",
        "jit(_k)",
        "make(_k)",
        "triton.jit(_k, do_not_specialize=['a'])",
        "triton.jit(do_not_specialize=['a'])(_k)",
        f"{TUNER}(triton.jit(_k))",
        f"{TUNER}(triton.heuristics({{}})(jit(_k, noinline=True)))",
    ],
)
def test_what_a_call_makes_is_a_kernel(call):
    text = f"{PLAIN}k = {call}\n\n\ndef run(x):\n    k[(1,)](x, x, B=128)\n"
    (kernel,) = find_kernels(parsed(text))
    assert (kernel.name, kernel.bound) == ("_k", "k")
    assert kernel.made.line == HEAD.count("\n") + text[: text.index("k = ")].count("\n") + 1
    assert [dict(site.literals) for site in call_sites(kernel)] == [{"B": 128}]
    assert kernel.decorators[-1].name == "triton.jit"
    configs = tuner_configs(kernel)
    assert ([config.values for config in configs] if configs else None) == ([(("B", 64),)] if TUNER in call else None)
    assert {name for name, _ in parts(kernel)} == {"_k"}
    assert cut(kernel).kernel.startswith("@triton.jit\ndef _k(")


@pytest.mark.parametrize(
    "text",
    [
        f"{PLAIN}_k = triton.jit(_k)\n",
        f"if True:{PLAIN.replace(chr(10), chr(10) + '    ')}k = triton.jit(_k)\n",
        f"try:{PLAIN.replace(chr(10), chr(10) + '    ')}k = triton.jit(_k)\nexcept ImportError:\n    k = None\n",
    ],
)
def test_it_may_keep_its_name_and_stand_in_a_block(text):
    assert [name for name, _ in kernels(text)] == ["_k"]


@pytest.mark.parametrize(
    "text",
    [
        f"{PLAIN}k = cached(triton.jit(_k))\n",  # what `cached` returns is not known
        f"{PLAIN}k = triton.jit(_k) if WIDE else None\n",
        f"{PLAIN}x = 1; k = triton.jit(_k)\n",  # nothing can be put below it alone
        f"{PLAIN}k = triton.autotune([], [])(_k)\n",
        PLAIN.replace("def", "@traced\ndef") + "k = triton.jit(_k)\n",  # not the function that is written there
        f"{PLAIN}{PLAIN}k = triton.jit(_k)\n",
        f"k = triton.jit(_k)\n{PLAIN}",
        "from other import _k\nk = triton.jit(_k)\n",
        "k = triton.jit(lambda x: x)\n",
        "k = triton.jit(*functions)\n",
    ],
)
def test_what_is_not_surely_a_kernel_is_none(text):
    assert kernels(text) == []


def test_one_function_is_one_kernel():
    assert kernels(f"{PLAIN}k = triton.jit(_k)\nl = triton.jit(_k, noinline=True)\n") == [("_k", "k")]


def test_a_helper_may_be_made_by_a_call():
    text = (
        "\n\ndef _f(x):\n    return x + 1\n\n\nf = triton.jit(_f)\n\n\n@triton.jit\ndef k(a):\n    tl.store(a, f(1))\n"
    )
    (kernel,) = find_kernels(parsed(text))
    assert kernel.name == "k"
    assert {name for name, _ in parts(kernel)} == {"k", "f"}
    assert cut(kernel).bindings == ("f = _f",)


def test_one_that_jit_code_calls_alone_is_no_kernel():
    text = f"{PLAIN}k = triton.jit(_k)\n\n\n@triton.jit\ndef outer(a):\n    k(a, a, 16)\n"
    assert kernels(text) == [("outer", "outer")]


def test_a_function_may_make_one():
    inside = PLAIN.replace("\n", "\n    ")
    text = f"{HEAD}def make_it():{inside}k = triton.jit(_k)\n    return k\n"
    found = enclosed_in(enclosing_views(parse_module(SourceFile("kernel.py", text))))
    assert [(kernel.name, kernel.bound) for kernel in found] == [("_k", "k")]


def test_either_name_finds_it():
    module = parsed(f"{PLAIN}k = triton.jit(_k)\n")
    first, second = kernel_named(module, "k"), kernel_named(module, "_k")
    assert first is not None
    assert first == second
    assert kernel_named(module, "other") is None
