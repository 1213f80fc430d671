"""Parameters that are descriptors: what is known of them, and what only a use or the host's code tells."""

from __future__ import annotations

import pytest

from tests.analyses.kernels import facts_of
from tlxify.diagnostics import Decline
from tlxify.pipeline import analyze
from tlxify.source import SourceFile

DOT = """
x = a_ptr.load([pid * TM, 0])
y = b_ptr.load([0, 0])
acc = tl.zeros((TM, TN), dtype=tl.float32)
acc = tl.dot(x, y, acc)
"""


def lengths(facts):
    return {
        d.name: tuple("1" if axis is None else facts.axis(axis).length.text() for axis in d.axes) for d in facts.hosted
    }


def test_what_blocks_meet_tells_how_long_they_are():
    facts = facts_of(DOT)
    assert lengths(facts) == {"a_ptr": ("TM", "a_ptr.block_shape[1]"), "b_ptr": ("a_ptr.block_shape[1]", "TN")}
    assert not facts.axis(facts.hosted[0].axes[1]).length.constexpr, "no plan may rest on what nobody said"


def test_extents_and_strides_are_the_live_object_s():
    access = facts_of(DOT).accesses[0][1]
    told = [(d.stride.text(), d.extent.text() if d.extent else None, d.from_zero) for d in access.dimensions]
    assert (access.pointer, told) == (
        "a_ptr",
        [("a_ptr.strides[0]", "a_ptr.shape[0]", True), ("1", "a_ptr.shape[1]", True)],
    )


@pytest.mark.parametrize(
    ("use", "read"),
    [
        ("y = a_ptr.load([0, 0])", True),
        ("y = a_ptr.load([0, 0]).to(a_ptr.dtype)", True),
        ("y = a_ptr.load([0, 0])\na_ptr.store([0, 0], y)", False),
        ("y = a_ptr.load([0, 0])\nhelper(a_ptr)", False),
    ],
)
def test_another_may_stand_for_a_descriptor_that_is_only_read(use, read):
    (descriptor,) = facts_of(use).hosted
    assert descriptor.read is read


@pytest.mark.parametrize("use", ["x = tl.load(a_ptr + pid)\nx.load([0, 0])", "(M + N).load([0, 0])", "TM.load([0])"])
def test_what_is_no_parameter_is_no_descriptor(use):
    with pytest.raises(Decline) as caught:
        facts_of(use)
    assert caught.value.diagnostic.code == "TLX210"


GROUPS = """
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def kernel(x_desc, w_desc, y_desc, M, N, K, G, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    for group in range(G):
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            x = x_desc.load([row, k])
            w = w_desc.load([group * K + k, col])
            acc = tl.dot(x, w, acc)
        y_desc.store([group, row, col], acc.to(tl.float16).reshape(1, BM, BN))

def launch(x, w, y, BM, BN, BK):
    x_desc = TensorDescriptor.from_tensor(x, [BM, BK])
    w_desc = TensorDescriptor.from_tensor(w, [BK, BN])
    y_desc = TensorDescriptor.from_tensor(y, [1, BM, BN])
    grid = (triton.cdiv(x.shape[0], BM), triton.cdiv(w.shape[1], BN))
    kernel[grid](x_desc, w_desc, y_desc, x.shape[0], w.shape[1], x.shape[1], y.shape[0], BM, BN, BK)
"""


def test_a_contract_describes_tensors_as_long_as_they_are_walked():
    (found,) = analyze(SourceFile("kernel.py", GROUPS))
    tensors = {spec.name: (spec.shape, spec.strides, spec.block) for spec in found.contract.tensors}
    assert tensors["w_desc"] == (("K + K * (G - 1)", "extent_1"), ("any", "1"), ("BK", "BN"))
    assert tensors["y_desc"] == (("G", "extent_0", "extent_1"), ("any", "any", "1"), ("1", "BM", "BN"))
    assert not found.contract.multiples, "a descriptor masks by itself"
