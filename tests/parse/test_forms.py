"""Names that a program binds in one of several forms when it is imported."""

from __future__ import annotations

import textwrap

import pytest

from tlxify.fingerprint import fingerprint
from tlxify.model import Alias, Constant, Helper, Unresolved
from tlxify.parse.forms import other_forms
from tlxify.parse.kernels import find_kernels
from tlxify.parse.module import parse_module
from tlxify.pipeline import convert
from tlxify.reach import reach
from tlxify.source import SourceFile

HEAD = "import triton\nimport triton.language as tl\n\n"
KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < N)
    tl.store(y_ptr + i, {use}, mask=i < N)
"""


def kernel_of(text, use):
    source = SourceFile("kernel.py", HEAD + textwrap.dedent(text) + KERNEL.format(use=use))
    return next(kernel for kernel in find_kernels(parse_module(source)) if kernel.name == "kernel")


def meaning(kernel, name):
    return next(use.meaning for use in reach(kernel) if use.name == name)


HELPERS = """
if wide():
    @triton.jit
    def f(x): return x + 1
else:
    @triton.jit
    def f(x): return x + 2
"""
PRECISION = "P = tl.constexpr('tf32' if wide() else 'ieee' if narrow() else 'tf32x3')\n"
MIXED = "if wide():\n    f = tl.exp\nelse:\n    @triton.jit\n    def f(x): return x\n"


@pytest.mark.parametrize(
    ("text", "use", "count"),
    [
        (HELPERS, "f(x)", 2),
        (PRECISION, "x * (P == 'tf32')", 3),
        ("P = 1 if wide() else 1\n", "x * P", 1),
        (MIXED, "f(x)", 2),
        ("f = 3\n", "x * f", 1),
        (HELPERS + PRECISION, "f(x) * (P == 'tf32')", 6),
    ],
)
def test_each_form_is_a_kernel_with_a_fingerprint_of_its_own(text, use, count):
    kernel = kernel_of(text, use)
    forms = [kernel, *other_forms(kernel)]
    assert len(forms) == count
    assert len({fingerprint(form) for form in forms}) == count


def test_a_value_that_is_chosen_is_known_to_be():
    kernel = kernel_of("P: tl.constexpr = 'tf32' if wide() else 'ieee'\n", "x * (P == 'tf32')")
    constant = meaning(kernel, "P")
    assert isinstance(constant, Constant)
    assert (constant.value, constant.chosen) == ("tf32", True)


def test_what_stands_in_for_what_is_missing_is_no_form():
    text = "if old():\n    @triton.jit\n    def f(x): return None\nelse:\n    f = tl.exp\n"
    kernel = kernel_of(text, "f(x)")
    assert meaning(kernel, "f") == Alias("triton.language.exp")
    assert not [*other_forms(kernel)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("if wide():\n    f = tl.exp\nelse:\n    f = tl.exp2\n", id="two functions of Triton's"),
        pytest.param("if wide():\n    f = tl.exp\nelse:\n    f = pick()\n", id="one of them, or what is picked"),
        pytest.param("f = tl.exp if wide() else tl.exp2\n", id="an expression that chooses"),
    ],
)
def test_forms_that_no_fingerprint_tells_apart_are_refused(text):
    assert isinstance(meaning(kernel_of(text, "f(x)"), "f"), Unresolved)


def test_a_helper_is_told_from_whatever_is_picked():
    text = "if wide():\n    f = pick()\nelse:\n    @triton.jit\n    def f(x): return x\n"
    assert isinstance(meaning(kernel_of(text, "f(x)"), "f"), Helper)


PRODUCT = """
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * sa + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        b = tl.load(b_ptr + ks[:, None] * sb + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += multiplied(a, b)
    tl.store(c_ptr + rows[:, None] * sc + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))
"""
DOTS = """
if chip():
    @triton.jit
    def multiplied(a, b):
        return tl.inline_asm_elementwise("mov.f32 $0, $1;", "=r,r", [tl.dot(a, b)], tl.float32, True, 1)
else:
    @triton.jit
    def multiplied(a, b):
        return tl.dot(a, b)
"""


def test_the_form_that_can_be_converted_is_and_the_launcher_knows_which_it_was():
    conversion = convert(SourceFile("kernel.py", HEAD + DOTS + PRODUCT))
    (outcome,) = conversion.converted
    first = next(k for k in find_kernels(parse_module(conversion.source)) if k.name == outcome.name == "product")
    (second,) = other_forms(first)
    assert fingerprint(second) in conversion.sidecar_text
    assert fingerprint(first) not in conversion.sidecar_text
