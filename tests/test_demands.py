"""Without the profit gate a kernel is converted as with it, where the gate lets it through; else as well as can be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tlxify.demands import Once
from tlxify.diagnostics import Decline
from tlxify.pipeline import convert
from tlxify.source import SourceFile

#: Where CAST is set, the second operand is computed; where that is left open, one value of `b` is.
SOURCE = """
import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, am, bk, cm,
    CAST: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        if CAST:
            a = a.to(tl.float32)
            b = b.to(tl.float32)
        acc += tl.dot(a, b)
    tl.store(c_ptr + m[:, None] * cm + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
"""
ALWAYS_CAST = SOURCE.replace("        if CAST:\n            a = a.to(tl.float32)\n    ", "").replace(
    "CAST: tl.constexpr, ", ""
)
#: The second operand is needed by the consumers as well: no role of its own can compute it.
USED_BESIDES = ALWAYS_CAST.replace("acc += tl.dot(a, b)", "acc += tl.dot(a, b)\n        acc += tl.sum(b, 0)[None, :]")
#: The gate refuses dots in IEEE precision, whatever else is true of them.
IEEE = SOURCE.replace("tl.dot(a, b)", 'tl.dot(a, b, input_precision="ieee")')


def conversion(text: str, *, profitable: bool):
    (kernel,) = convert(SourceFile("kernel.py", text), profitable=profitable).kernels
    return kernel


def claims(kernel) -> tuple[str, ...]:
    return kernel.plan.guard.claims


def test_the_gate_does_not_decide_how_a_kernel_is_converted():
    gated, free = conversion(SOURCE, profitable=True), conversion(SOURCE, profitable=False)
    assert gated.plan.dots
    assert claims(gated) == ("not CAST",)
    assert free.conversion == gated.conversion


def test_dots_in_place_come_before_fewer_assumptions():
    assert conversion(IEEE, profitable=True).conversion is None
    free = conversion(IEEE, profitable=False)
    assert len(free.plan.dots) == 1
    assert claims(free) == ("not CAST",), "without it, everything passes through registers"
    assert "tl.dot(" not in free.conversion.module_text.partition("_kernel_ws(")[2].partition("@triton.jit")[0]


def test_what_a_role_computes_does_not_pay():
    gated = conversion(ALWAYS_CAST, profitable=True)
    assert gated.verdict_word == "unprofitable"
    assert [item.code for item in gated.diagnostics] == ["TLX501"]
    assert conversion(ALWAYS_CAST, profitable=False).plan.transform is not None


def test_what_cannot_be_in_place_passes_through_registers():
    assert conversion(USED_BESIDES, profitable=True).conversion is None
    free = conversion(USED_BESIDES, profitable=False)
    assert not free.plan.dots
    assert claims(free) == ()
    ast.parse(free.conversion.module_text)


def test_verification_leaves_out_what_the_guard_leaves_to_the_original():
    """One operand is negated, so it passes through registers: then the other one has 16 bits."""
    strided = SOURCE.replace("am, bk, cm", "am, ak, bk, bn, cm")
    strided = strided.replace("am + k[None, :]", "am + k[None, :] * ak").replace(
        "bk + n[None, :]", "bk + n[None, :] * bn"
    )
    both = conversion(strided, profitable=False).conversion.contract
    added = "acc += tl.dot(a, b)"
    kernel = conversion(strided.replace(added, "acc += tl.dot(-a, b)"), profitable=False)
    assert [step.a.buffer for step in kernel.plan.dots] == [None]
    one = kernel.conversion.contract
    for name in ("a_ptr", "b_ptr"):
        (of_both,), (of_one,) = ([s.dtypes for s in c.tensors if s.name == name] for c in (both, one))
        assert set(of_both) > set(of_one) == {"fp16", "bf16"}


def test_a_kernel_that_cannot_be_converted_is_refused_for_its_own_reason():
    text = SOURCE.replace("tl.store(", "tl.debug_barrier()\n    tl.atomic_xchg(")
    refused = conversion(text, profitable=False)
    assert [item.code for item in refused.diagnostics] == ["TLX308"]


def refusing(*numbers: int) -> Iterator[int]:
    yield from numbers
    raise Decline("TLX301", None, name="kernel")


def test_items_are_worked_out_once():
    asked = []
    once = Once(asked.append(number) or number for number in range(3))
    assert next(iter(once)) == 0
    assert list(once) == list(once) == [0, 1, 2]
    assert asked == [0, 1, 2]


def test_a_refusal_at_the_end_is_repeated():
    once = Once(refusing(1, 2))
    for _ in range(2):
        found = []
        with pytest.raises(Decline):
            found.extend(once)
        assert found == [1, 2]
