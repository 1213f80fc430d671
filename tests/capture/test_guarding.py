"""What a generated guard is asked about a captured launch: tensors that are no more than where they lie."""

from __future__ import annotations

import pytest

from tests.golden import ROOT
from tlxify import convert
from tlxify.capture.guarding import resolve
from tlxify.capture.launches import KernelId, Launch, Tensor
from tlxify.source import SourceFile
from tlxify.verdict import Rung
from tlxify.verify.child import Job, Limits

CONFIG = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3}


@pytest.mark.triton
def test_descriptors_are_passed_as_such():
    path = ROOT / "corpus" / "gemm" / "host_descriptors.py"
    (kernel,) = convert(SourceFile(str(path), path.read_text())).kernels

    def captured(rows):
        shapes = {
            "a_desc": ((512, 256), (rows, 64)),
            "b_desc": ((384, 256), (128, 64)),
            "c_desc": ((512, 384), (128, 128)),
        }
        tensors = tuple(Tensor(name, "fp16", s, (s[1], 1), 16, block) for name, (s, block) in shapes.items())
        scalars = {"M": 512, "N": 384, "K": 256, "GROUP_M": 8}
        what = KernelId("host_descriptor_kernel", "m", "m.py", 1, "0")
        return Launch(what, tensors, tuple(scalars.items()), frozenset(), (12,), (), (), "triton", 1, (10.0,))

    asked = [(captured(rows), CONFIG) for rows in (128, 64)]
    figures, findings = resolve(Job("guard", kernel.conversion, Rung.NONE, {"launches": asked}, Limits()), print)
    assert not findings
    assert [(path, code) for path, code, _ in figures["dispatches"]] == [("specialized", ""), ("original", "block")]
