"""Decorators that are Triton's by way of other files, or of a few lines of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxify.parse.kernels import enclosed_in, enclosing_views, find_kernels
from tlxify.parse.module import parse_module
from tlxify.pipeline import convert
from tlxify.source import SourceFile

IMPORTS = "import triton\nimport triton.language as tl\n"
KERNEL = """

@{decorator}
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)
"""

COMPAT = """
try:
    import triton
    from triton import jit, autotune as tune
    HAS_TRITON = True
except ImportError:
    triton = None
    HAS_TRITON = False
    def jit(f):
        return f
"""


def module(tmp_path: Path, head: str, decorator: str, compat: str = COMPAT) -> SourceFile:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "compat.py").write_text(compat)
    (tmp_path / "pkg" / "through.py").write_text("from .compat import *\nfrom .compat import jit as passed_on\n")
    path = tmp_path / "pkg" / "m.py"
    path.write_text(IMPORTS + head + KERNEL.format(decorator=decorator))
    return SourceFile.read(path)


JITS = {
    "by-name": ("from .compat import jit", "jit"),
    "renamed": ("from .compat import jit as J", "J"),
    "absolute": ("from pkg.compat import jit", "jit"),
    "called": ("from .compat import jit", "jit(do_not_specialize=['n'])"),
    "member": ("from . import compat", "compat.jit"),
    "member-of-a-module": ("import pkg.compat as cc", "cc.jit"),
    "dotted": ("import pkg.compat", "pkg.compat.jit"),
    "triton-of-a-module": ("from . import compat", "compat.triton.jit"),
    "twice": ("from .through import passed_on", "passed_on"),
    "star": ("from .through import *", "jit"),
    "home": ("from triton.runtime import jit as home", "home.jit"),
    "assigned": ("from .compat import jit\nmine = jit", "mine"),
    "options": ("mine = triton.jit(do_not_specialize=['n'])", "mine"),
    "partial": ("import functools\nmine = functools.partial(triton.jit, noinline=True)", "mine"),
    "partial-by-name": ("from functools import partial\nmine = partial(triton.jit, noinline=True)", "mine"),
    "arms": (
        "import os\nif os.environ.get('X'):\n    jit = triton.jit\nelse:\n    jit = triton.jit(noinline=False)",
        "jit",
    ),
    "try": ("try:\n    jit = triton.jit\nexcept AttributeError:\n    jit = None", "jit"),
    "chosen": ("import os\njit = triton.jit if os.environ.get('X') else (lambda f: f)", "jit"),
    "function": ("def mine(f):\n    'Ours.'\n    return triton.jit(f)", "mine"),
    "function-with-options": ("def mine(f):\n    return triton.jit(noinline=True)(f)", "mine"),
    "lambda": ("mine = lambda f: triton.jit(f)", "mine"),
    "factory": ("def mine(**options):\n    return triton.jit(**options)", "mine(noinline=True)"),
    "factory-of-a-function": (
        "def mine(**options):\n    def inner(f):\n        return triton.jit(f, **options)\n    return inner",
        "mine()",
    ),
}


@pytest.mark.parametrize(("head", "decorator"), JITS.values(), ids=JITS)
def test_what_comes_to_triton_jit_makes_a_kernel(tmp_path: Path, head: str, decorator: str):
    (kernel,) = find_kernels(parse_module(module(tmp_path, head, decorator)))
    assert (kernel.name, [one.name for one in kernel.decorators]) == ("kernel", ["triton.jit"])


UNKNOWN = {
    "not-there": ("from .nowhere import jit", "jit"),
    "another-package": ("from somewhere.else_ import jit", "jit"),
    "computed": ("jit = getattr(triton, 'j' + 'it')", "jit"),
    "one-arm-of-two": (
        "import os\nfrom elsewhere import kernel_of\nif os.environ.get('X'):\n    jit = triton.jit\n"
        "else:\n    jit = kernel_of",
        "jit",
    ),
    "does-more": ("def mine(f):\n    register(f)\n    return triton.jit(f)", "mine"),
    "wraps-it": ("def mine(f):\n    return Launcher(triton.jit(f))", "mine"),
    "another-argument": ("def mine(g, f):\n    return triton.jit(f)", "mine"),
    "factory-that-is-not-called": ("def mine(**options):\n    return triton.jit(**options)", "mine"),
    "circle": ("from .compat import jit", "jit", "from .through import jit\n"),
}


@pytest.mark.parametrize("case", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_followed_is_declined_by_name(tmp_path: Path, case: tuple[str, ...]):
    source = module(tmp_path, *case)
    for names in (None, ("kernel",)):
        (outcome,) = convert(source, names).kernels
        assert (outcome.name, outcome.verdict_word) == ("kernel", "declined")
        (found,) = outcome.diagnostics
        assert found.code == "TLX112"
        assert f"`{case[1].partition('(')[0]}`" in found.message


def test_a_tuner_of_another_module_is_triton_s(tmp_path: Path):
    head = "from .compat import tune"
    source = module(tmp_path, head, "tune(configs=[triton.Config({'BLOCK': 64})], key=['n'])\n@triton.jit")
    (kernel,) = find_kernels(parse_module(source))
    assert [one.name for one in kernel.decorators] == ["triton.autotune", "triton.jit"]


def test_calls_and_kernels_in_functions_are_followed_too(tmp_path: Path):
    source = module(tmp_path, "from .compat import jit", "jit")
    text = source.text.replace("@jit\n", "") + "\n\nlaunched = jit(kernel)\n"
    (kernel,) = find_kernels(parse_module(SourceFile(source.path, text)))
    assert (kernel.name, kernel.bound) == ("kernel", "launched")
    body = KERNEL.format(decorator="jit").strip().replace("\n", "\n    ")
    text = f"{IMPORTS}\n\ndef make():\n    from .compat import jit\n\n    {body}\n    return kernel\n"
    (kernel,) = enclosed_in(enclosing_views(parse_module(SourceFile(source.path, text))))
    assert kernel.name == "kernel"


NONE_OF_THEM = {
    "host": ("import functools", "functools.lru_cache", "def host():\n    return tl.float16\n"),
    "maker": (
        "import functools",
        "functools.lru_cache",
        "def make():\n    def kernel(x_ptr):\n        tl.store(x_ptr, 1)\n",
    ),
    "helper": ("from elsewhere import helper", "helper", "def of(x):\n    return tl.load(x)\n"),
    "triton's": ("from triton.experimental import gluon", "gluon.jit", "def of(x):\n    tl.store(x, 1)\n"),
}


@pytest.mark.parametrize(("head", "decorator", "function"), NONE_OF_THEM.values(), ids=NONE_OF_THEM)
def test_other_functions_are_not_taken_for_kernels(head: str, decorator: str, function: str):
    text = f"{IMPORTS}{head}\n{KERNEL.format(decorator='triton.jit')}\n\n@{decorator}\n{function}"
    assert [kernel.name for kernel in convert(SourceFile("m.py", text)).kernels] == ["kernel"]


TWICE = {
    "again": "{first}\nother = kernel\n\n{second}",
    "arms": "import os\nif os.environ.get('X'):\n    {first}\nelse:\n    {second}",
}


@pytest.mark.parametrize("shape", TWICE.values(), ids=TWICE)
def test_an_earlier_kernel_of_the_same_name_is_spoken_of(shape: str):
    one = KERNEL.format(decorator="triton.jit").strip()
    inner = one.replace("\n", "\n    ") if "else" in shape else one
    text = IMPORTS + shape.format(first=inner, second=inner.replace("* 2", "* 3")) + "\n"
    found = convert(SourceFile("m.py", text))
    assert [kernel.name for kernel in found.kernels] == ["kernel"]
    (told,) = found.diagnostics
    assert told.code == "TLX113"
    first, second = (number for number, line in enumerate(text.splitlines(), 1) if "def kernel" in line)
    assert (told.span.line, f"line {second} " in told.message) == (first, True)


def test_helpers_in_two_arms_are_no_kernels():
    helper = "@triton.jit\n    def half(x):\n        return x / {}\n"
    arms = f"import os\nif os.environ.get('X'):\n    {helper.format(2)}else:\n    {helper.format('2.0')}"
    found = convert(SourceFile("m.py", IMPORTS + arms + KERNEL.format(decorator="triton.jit")))
    assert found.diagnostics == ()
