"""What a verdict proves about bits reaches the launcher in the file beside the conversion."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tlxify import convert, files
from tlxify.cli import main
from tlxify.source import SourceFile
from tlxify.verdict import Evidence, Rung, Verdict
from tlxify.verify.proof import FORMAT, proofs

GRAM = Path(__file__).parents[2] / "corpus" / "gemm" / "gram.py"
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


@pytest.mark.parametrize("way", [["--write"], ["-o", "out.py"]])
def test_converting_with_a_gpu_records_what_was_shown(tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    Path("gram.py").write_text(GRAM.read_text())
    verdict = Verdict("gram_kernel", Rung.RAN, (BITWISE,))
    monkeypatch.setattr("tlxify.verify.verify", lambda *args, **kwargs: verdict)
    done = CliRunner().invoke(main, ["convert", "gram.py", "--verify", "ran", *way])
    assert done.exit_code == 0, done.output
    path = Path("gram_tlx.bitwise.json" if way == ["--write"] else "out.bitwise.json")
    assert json.loads(path.read_text())["kernels"] == {"gram_kernel": PROOF}


@pytest.mark.triton
def test_what_is_verified_has_the_fingerprint_of_what_is_written(tmp_path):
    import tlx
    from tlxify.verify.loading import load

    found = convert(SourceFile.read(GRAM))
    path = tmp_path / "gram_tlx.py"
    path.write_text(found.sidecar_text)
    spec = importlib.util.spec_from_file_location("gram_tlx_written", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    verified = load(found.kernels[0].conversion)
    assert tlx.fingerprint_of(verified.bound.converted) == tlx.fingerprint_of(module._gram_kernel_ws)
    assert tlx.fingerprint_of(verified.source) in found.sidecar_text
