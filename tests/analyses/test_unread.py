"""What a parameter is that the kernel never reads: what its launch says, and nothing where that says nothing."""

from __future__ import annotations

import pytest

from tlxify.analyses.contracts.unread import unread
from tlxify.config import Contracts
from tlxify.contract import Contract, ScalarSpec
from tlxify.contracting import any_contract
from tlxify.corrections import Signature, corrected
from tlxify.pairing import find
from tlxify.render.contract import contract_text
from tlxify.source import SourceFile

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, M, N, sx, sy, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx + at, mask=at < N, other=0.0)
    tl.store(y_ptr + row * sy + at, x * x, mask=at < N)


def run(x, y):
    {bound}
    kernel[{grid}]({passed}, BLOCK=128)
"""
USUAL = {
    "bound": "M, N = x.shape",
    "grid": "(M, triton.cdiv(N, 128))",
    "passed": "x, y, M, N, x.stride(0), y.stride(0)",
}
#: Two batch indices, of which the kernel multiplies the inner one with the first stride.
HEADS = """
import triton
import triton.language as tl


@triton.jit
def kernel(q_ptr, o_ptr, T, H, D, sqt, sqh, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    h = tl.program_id(1)
    d = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + t * sqt + h * sqh + d, mask=d < D, other=0.0)
    tl.store(o_ptr + t * sqt + h * sqh + d, q + q, mask=d < D)


def run(q, o):
    T, H, D = q.shape
    kernel[(T, H)](q, o, T, H, D, q.stride(0), q.stride(1), BLOCK=64)
"""


def contract(text: str) -> Contract:
    return any_contract(find(SourceFile("kernel.py", text), "kernel"), Contracts(None, "kernel.py"))


def launched(**changes: str) -> Contract:
    return contract(KERNEL.format(**{**USUAL, **changes}))


def test_what_no_expression_reads_is_unread():
    assert unread(find(SourceFile("kernel.py", KERNEL.format(**USUAL)), "kernel")) == {"M"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"bound": "M, N = x.size()"},
        {"bound": "M = x.shape[0]; N = x.shape[1]"},
        {"bound": "M, N = x.size(0), x.size(1)"},
        {"bound": "(M, N), rows = x.shape, 7"},
        {"passed": "x, y, M, N, *x.stride()[:1], y.stride(0)"},
        {"passed": "*(x, y), M, N, x.stride(0), y.stride(0)"},
        # The grid alone says it, whatever M is called.
        {"bound": "M, N = rows, columns"},
        # The tensor alone says it.
        {"grid": "(len(x), triton.cdiv(N, 128))"},
        {"grid": "(len(x), triton.cdiv(N, 128))", "passed": "x, y, x.shape[0], N, x.stride(0), y.stride(0)"},
        {"grid": "(len(x), triton.cdiv(N, 128))", "passed": "x, y, x.size(-2), N, x.stride(0), y.stride(0)"},
    ],
)
def test_a_launch_says_how_many_programs_there_are(changes):
    found = launched(**changes)
    assert dict(found.computed)["M"] == "grid_0"
    assert ScalarSpec("M", "size") in found.scalars
    assert found.unread == ()
    assert [spec.name for spec in found.scalars] == ["M", "N", "sx", "sy"], "in the kernel's order"


@pytest.mark.parametrize(
    "changes",
    [
        {"grid": "(len(x), triton.cdiv(N, 128))", "bound": "M, N = rows, columns"},
        # What it was before the last assignment says nothing.
        {"grid": "(len(x), triton.cdiv(N, 128))", "bound": "M, N = x.shape; M = M // 2"},
        {"grid": "(len(x), triton.cdiv(N, 128))", "bound": "*M, N = x.shape"},
        {"grid": "(len(x), triton.cdiv(N, 128))", "passed": "*given, N, *strides"},
    ],
)
def test_what_nothing_says_is_any_number(changes):
    found = launched(**changes)
    assert "M" not in dict(found.computed)
    assert ScalarSpec("M", "int", choices=(2,)) in found.scalars
    assert found.unread == ("M",)
    assert 'M = "int in {2} unread"' in contract_text(found, "kernel.py")


def test_what_is_passed_for_another_parameter_too_is_that():
    found = launched(passed="x, y, N, N, x.stride(0), y.stride(0)")
    assert dict(found.computed)["M"] == "N"


@pytest.mark.parametrize(("passed", "spec"), [("7", ("int", (7,))), ("0.25", ("float", (0.25,)))])
def test_a_literal_is_what_a_launch_passes(passed, spec):
    found = launched(passed=f"x, y, {passed}, N, x.stride(0), y.stride(0)")
    assert next((s.kind, s.choices) for s in found.scalars if s.name == "M") == spec
    assert found.unread == ()


def test_a_factor_of_the_grid_is_the_size_that_no_parameter_holds():
    text = (
        KERNEL.format(**USUAL).replace("M, N, sx", "B, H, N, sx").replace("row * sx", "(row // H) * sh + row % H * sx")
    )
    text = text.replace("sx, sy", "sh, sx, sy").replace("(M, triton", "(B * H, triton")
    text = text.replace("M, N, x.stride(0)", "B, H, N, x.stride(0), x.stride(1)").replace("M, N = x", "B, H, N = x")
    assert dict(contract(text).computed)["B"] == "outer_0"


def test_axes_lie_as_the_strides_that_a_launch_passes_say():
    tensors = {spec.name: spec for spec in contract(HEADS).tensors}
    assert tensors["q_ptr"].strides == ("sqt", "sqh", "1")
    assert tensors["q_ptr"].shape == ("grid_0", "grid_1", "D")
    assert dict(contract(HEADS).computed) == {"T": "grid_0", "H": "grid_1"}


def test_an_unread_constant_is_what_it_is_by_default():
    more = "BLOCK: tl.constexpr, WAY: tl.constexpr, FAST: tl.constexpr = True"
    found = contract(KERNEL.format(**USUAL).replace("BLOCK: tl.constexpr", more))
    kinds = {spec.name: (spec.kind, spec.choices) for spec in found.constexprs}
    assert kinds["FAST"] == ("flag", (True,))
    assert kinds["WAY"] == ("int", (2,))
    assert found.unread == ("WAY",)


def test_the_mark_is_read_as_it_is_printed_and_any_word_takes_it_away():
    found = launched(grid="(len(x), triton.cdiv(N, 128))", bound="M, N = rows, columns")
    signature = Signature("kernel", found.parameters, frozenset({"BLOCK"}))
    assert corrected(found, signature, {"M": "int in {2} unread"}).unread == ("M",)
    assert corrected(found, signature, {"M": "size"}).unread == ()
    assert corrected(found, signature, {"M": "= grid_0"}).unread == ()
