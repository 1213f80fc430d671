"""The other commands: analyze, verify, dump, explain, doctor, revert, --version."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tlxify.catalogue import CATALOGUE
from tlxify.render.dump import dump
from tlxify.render.page import page
from tlxify.source import Span
from tlxify.verdict import Rung

from .conftest import SOURCE, refused

PACKAGES = Path(__file__).parents[2]


def test_analyze_shows_roles_and_findings_but_no_diff(run, fakes, file):
    result = run("analyze", file)
    assert result.exit_code == 0
    assert "producer" in result.stdout
    assert "asks the TMA for tiles" in result.stdout, "the legend explains the roles that occur"
    assert "+# converted" not in result.stdout
    fakes.outcome = refused("TLX306")
    result = run("analyze", file)
    assert (result.exit_code, "TLX306" in result.stdout) == (1, True)


def test_analyze_says_what_limits_a_kernel_or_why_it_cannot(run, fakes, file):
    line = "limit: not known: it cannot be followed: "
    assert line in run("analyze", file).stdout
    assert line not in run("convert", file).stdout, "that is no part of a conversion"
    bad = run("analyze", file, "--shapes", "M")
    assert (bad.exit_code, "'M' is not NAME=NUMBER" in bad.stderr) == (2, True)


def test_verify_goes_to_compiled_by_default(run, fakes, file):
    result = run("verify", file)
    assert result.exit_code == 0
    assert fakes.asked[-1] == ("verify", "kernel", Rung.COMPILED)
    assert "kernel: compiled" in result.stdout
    fakes.outcome = refused("TLX301", name="kernel")
    assert "TLX301" in run("verify", file).stdout


def test_explain_shows_the_page_and_lists_all(run):
    assert run("explain", "tlx206").stdout == page(CATALOGUE["TLX206"])
    listing = run("explain").stdout
    assert all(code in listing for code in CATALOGUE)
    unknown = run("explain", "TLX999")
    assert (unknown.exit_code, "TLX999" in unknown.stderr) == (2, True)


def test_version(run):
    assert run("--version").stdout == f"tlxify, version {importlib.metadata.version('tlxify')}\n"


def test_revert_without_a_conversion_says_so(run, file):
    result = run("revert", file)
    assert result.exit_code == 2
    assert "no conversion to revert" in result.stderr


def test_dump_of_values_is_an_outline_without_hidden_fields():
    @dataclass(frozen=True)
    class Leaf:
        span: Span
        names: frozenset[str]

    @dataclass(frozen=True)
    class Root:
        title: str
        rung: Rung
        leaves: tuple[Leaf, ...]
        node: object = field(repr=False, default=None)

    leaf = Leaf(Span(1, 2, 3, 4), frozenset({"b", "a"}))
    assert dump(Root("x", Rung.RAN, (leaf,), node=object())).splitlines() == [
        "Root",
        "  title: 'x'",
        "  rung: ran",
        "  leaves: 1 entries",
        "    - Leaf",
        "      span: 1:2-3:4",
        "      names: ('a', 'b')",
    ]


def test_output_that_cannot_be_encoded_is_escaped(tmp_path):
    result = doctor(tmp_path, PYTHONIOENCODING="latin-1")
    assert result.returncode == 0, result.stderr
    assert "\\u2713" in result.stdout


def doctor(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`tlxify doctor` with `path` first on the search path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(PACKAGES)]), **environment}
    code = "from tlxify.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "doctor"],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=path,
        check=False,
    )


def test_doctor_is_content_here(tmp_path):
    result = doctor(tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "ours" in result.stdout


@pytest.mark.parametrize("name", ["tlx.py", "tlx/__init__.py"])
def test_doctor_names_a_foreign_tlx_and_does_not_import_it(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("raise SystemExit('imported')\n")
    result = doctor(tmp_path)
    assert result.returncode == 1
    assert f"a foreign package is found first: {path.resolve()}" in result.stdout


def test_dump_prints_stages_field_by_field(run, fakes, file, monkeypatch):
    from types import SimpleNamespace

    from tlxify.diagnostics import Decline

    stages = SimpleNamespace(kernel=Span(1, 2, 3, 4), facts=("a", "b"))
    monkeypatch.setattr(sys.modules["tlxify.pipeline"], "analyze", lambda source, name: (stages,), raising=False)
    assert run("dump", "--stage", "facts", file).stdout == "('a', 'b')\n"

    def decline(source, name):
        raise Decline("TLX102", None)

    monkeypatch.setattr(sys.modules["tlxify.pipeline"], "analyze", decline)
    result = run("dump", "--stage", "kernel", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "TLX102" in result.stderr
    assert file.read_text() == SOURCE


@pytest.mark.torch
def test_doctor_names_torch_without_importing_it():
    version = importlib.metadata.version("torch")
    code = (
        "import sys; from tlxify.doctor import check_torch; check = check_torch();"
        "print(check.state, check.text, 'torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGES)
    assert result.stdout.split() == ["ok", version, "False"]


@pytest.mark.torch
def test_tlxify_and_torch_agree_about_what_is_installed():
    result = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
