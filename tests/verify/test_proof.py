"""What a verdict proves about bits reaches the launcher in the file beside the conversion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tlxify import files
from tlxify.verdict import Evidence, Rung, Verdict
from tlxify.verify.proof import FORMAT, proofs

PROOF = {"source": "1" * 16, "converted": "2" * 16, "device": "NVIDIA H200", "triton": "3.6.0", "configs": [{"B": 64}]}
BITWISE = Evidence(Rung.RAN, True, "bitwise", "1 of 1 configs give the source's very bits", json.dumps(PROOF))


def test_what_ran_with_the_source_s_bits_is_recorded():
    text = proofs({"k": Verdict("k", Rung.RAN, (BITWISE,)), "other": Verdict("other", Rung.RAN)})
    assert json.loads(text) == {"format": FORMAT, "kernels": {"k": PROOF}}


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("k", Rung.RAN),
        Verdict("k", Rung.COMPILED, (BITWISE,)),
        Verdict("k", Rung.RAN, (BITWISE, Evidence(Rung.RAN, False, "mismatch", "no"))),
        Verdict("k", Rung.RAN, (BITWISE,), source_fails=True),
    ],
)
def test_anything_less_is_not(verdict):
    assert proofs({"k": verdict}) is None


@pytest.mark.triton
def test_the_launcher_looks_where_the_converter_writes():
    from tlx.launch import proofs as launcher

    assert launcher.FORMAT == FORMAT
    for name in ("kernels_tlx.py", "out.py"):
        assert launcher.proofs_beside(Path(name)) == files.proofs_beside(Path(name))


def test_reverting_takes_the_proofs_away(tmp_path):
    source = tmp_path / "kernels.py"
    source.write_text("a = 1\n")
    written = files.write_conversion(source, "a = 1\n", "a = 2\n", "b = 3\n")
    written.proofs.write_text("{}")
    files.revert(source)
    assert [path.name for path in tmp_path.iterdir()] == ["kernels.py"]
