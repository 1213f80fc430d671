"""Converted files are verified as they stand on disk: sidecars, modules of `-o`, files that `--write` bound."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.golden import CASES, read
from tlxify.files import write_conversion
from tlxify.job import standing
from tlxify.pipeline import convert
from tlxify.source import SourceFile

ROOT = Path(__file__).parents[2]
CAUGHT = {"capture_output": True, "text": True, "check": True}
#: How the corpus GEMM's conversion gives a slot back.
ARRIVE = "tlx.barrier_arrive(empty["


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The corpus GEMM bound by `--write` in `matmul.py`, and as `-o` writes it in `whole.py`."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "corpus" / "gemm" / "matmul.py", "matmul.py")
    source = SourceFile.read("matmul.py")
    conversion = convert(source)
    write_conversion(Path("matmul.py"), source.text, conversion.patched_source_text, conversion.sidecar_text)
    Path("whole.py").write_text(conversion.module_text)
    return conversion.kernels[0].contract


FILES = ("matmul.py", "matmul_tlx.py", "whole.py")
#: The file in which each of them keeps the specialized kernel.
HOLDS = {"matmul.py": "matmul_tlx.py", "matmul_tlx.py": "matmul_tlx.py", "whole.py": "whole.py"}


def simulated(conversion):
    from tlxify.verify.inputs import edge_cases
    from tlxify.verify.simulate import simulate

    cases = [case for case in edge_cases(conversion.contract) if case.name in ("5 trips", "a_ptr transposed")]
    return simulate(conversion, cases=[replace(case, schedules=("late", 0)) for case in cases[:2]])


@pytest.mark.triton
@pytest.mark.parametrize("file", FILES)
def test_what_is_on_disk_is_verified(written, file):
    (kernel,) = standing(Path(file), ()).kernels
    assert kernel.contract == written
    assert kernel.conversion.file == HOLDS[file]
    tally = simulated(kernel.conversion)
    assert not tally.findings
    assert not tally.source_fails
    assert tally.specialized == 2


@pytest.mark.triton
@pytest.mark.parametrize("file", FILES)
def test_a_kernel_that_a_call_makes_is_bound_and_verified_where_it_is(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    text = read(CASES / "address" / "recomputed.py").source.replace("@triton.jit\ndef kernel(", "def _kernel(")
    text += "\n\nproduct = triton.jit(_kernel)\n"
    conversion = convert(SourceFile("matmul.py", text))
    Path("matmul.py").write_text(text)
    write_conversion(Path("matmul.py"), text, conversion.patched_source_text, conversion.sidecar_text)
    Path("whole.py").write_text(conversion.module_text)
    (kernel,) = standing(Path(file), ()).kernels
    assert kernel.conversion.contract == conversion.kernels[0].conversion.contract
    tally = simulated(kernel.conversion)
    assert not tally.findings
    assert tally.specialized >= 1
    if file != "matmul_tlx.py":
        code = f"import {file[:-3]} as m; print(m.product.converted.fn.__name__, m.product.original.fn is m._kernel)"
        path = os.pathsep.join((str(tmp_path), str(ROOT)))
        ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, **CAUGHT)
        assert ran.stdout.split() == ["_kernel_ws", "True"], ran.stderr


@pytest.mark.triton
@pytest.mark.parametrize("file", FILES)
def test_an_edit_by_hand_is_caught_at_its_line(written, file):
    path = Path(HOLDS[file])
    text = path.read_text()
    place = text.index(ARRIVE)
    path.write_text(text[:place] + text[place:].replace(" - 1", "", 1))
    findings = list(simulated(standing(Path(file), ()).kernels[0].conversion).findings.values())
    assert {finding.code for finding in findings} & {"race", "release-before-retire", "deadlock"}, findings
    lines = path.read_text().splitlines()
    assert all(finding.file == path.name and "tlx." in lines[finding.line - 1] for finding in findings)


def test_an_ordinary_file_is_none(written):
    shutil.copy(ROOT / "corpus" / "gemm" / "matmul.py", "plain.py")
    assert standing(Path("plain.py"), ()) is None


def test_a_kernel_that_is_not_in_it_is_told(written):
    (refusal,) = standing(Path("matmul_tlx.py"), ("other",)).diagnostics
    assert refusal.code == "TLX103"
    assert "matmul_kernel" in refusal.message


def why(file: str) -> str:
    (refusal,) = standing(Path(file), ()).diagnostics
    assert refusal.code == "TLX608"
    return refusal.message


def test_a_source_that_is_gone_or_another_is_told(written):
    path = Path("matmul.py")
    text = path.read_text()
    path.write_text(text.replace("other=0.0", "other=1.0", 1))
    assert "matmul_kernel in matmul.py was changed since" in why("matmul_tlx.py")
    path.write_text(text.replace("matmul_kernel", "product_kernel"))
    assert "matmul.py has no kernel matmul_kernel" in why("matmul_tlx.py")
    path.unlink()
    assert "there is no matmul.py beside it" in why("matmul_tlx.py")
    path.write_text(text)
    Path("matmul_tlx.py").unlink()
    assert "it binds matmul_tlx.py, which is not beside it" in why("matmul.py")


def test_helpers_that_were_edited_in_one_of_the_two_files_do_not_hide_each_other(written):
    # Source and sidecar have a helper of the same name each: neither may serve the other.
    path = Path("matmul_tlx.py")
    text = path.read_text()
    assert "0.01 * x" in text
    path.write_text(text.replace("0.01 * x", "0.5 * x"))
    conversion = standing(path, ()).kernels[0].conversion
    assert "0.5 * x" in conversion.module_text
    assert "0.01 * x" in conversion.source_text
    assert "0.5 * x" not in conversion.source_text


@pytest.mark.triton
@pytest.mark.parametrize("file", FILES)
def test_a_file_of_descriptors_is_verified_as_what_it_is(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "corpus" / "gemm" / "matmul.py", "matmul.py")
    source = SourceFile.read("matmul.py")
    conversion = convert(source, tier="descriptors")
    write_conversion(Path("matmul.py"), source.text, conversion.patched_source_text, conversion.sidecar_text)
    Path("whole.py").write_text(conversion.module_text)
    (kernel,) = standing(Path(file), ()).kernels
    assert kernel.conversion.plain
    assert (kernel.contract, kernel.conversion.converted) == (conversion.kernels[0].contract, "_matmul_kernel_desc")
    tally = simulated(kernel.conversion)
    assert not tally.findings
    assert tally.specialized == 2
