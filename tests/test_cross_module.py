"""A kernel whose helpers and constants live in other files of its package, from conversion to the written tree."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.golden import ROOT
from tlxify import convert
from tlxify.cli import main
from tlxify.source import SourceFile

LINEAR = (ROOT / "corpus/gemm/linear.py").read_text()
GELU = LINEAR[LINEAR.index("@triton.jit\ndef gelu") : LINEAR.index("@triton.autotune")]
IMPORT = "import triton.language as tl\n"
FILES = {
    "__init__": "",
    "nn/__init__": "from .activations import gelu as activate\n",
    "nn/activations": """
import os
import triton
import triton.language as L
from ..numbers import TWICE_SQRT as SLOPE
from .logistic import logistic

CUBIC = L.constexpr(0.044715)

if os.environ.get("EXAMPLE_FAST", "0") == "1":
    @triton.jit
    def gelu(x):
        return x
else:
    @triton.jit
    def gelu(x):
        return x * logistic(SLOPE * (x + CUBIC * x * x * x))
""",
    "nn/logistic": f"import triton\n{IMPORT}logistic = tl.sigmoid\n",
    "numbers": f"{IMPORT}TWICE_SQRT = tl.constexpr(1.595769122)\n",
    "grid": f"import triton\n{IMPORT}\n\n@triton.jit\ndef program_id(axis: int):\n    return tl.program_id(axis)\n"
    "\n\n@triton.jit\ndef same(x):\n    return x\n",
    "linear": LINEAR.replace(GELU, "")
    .replace(IMPORT, f"{IMPORT}\nfrom example import grid as g\nfrom example.nn import activate\n")
    .replace("= gelu(acc)", "= g.same(activate(acc))")
    .replace("tl.program_id(", "g.program_id("),
}


def write(folder, files):
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def package(tmp_path):
    """The package `example`, as a folder."""
    write(tmp_path / "example", FILES)
    return tmp_path / "example"


def converted(path: Path):
    return convert(SourceFile.read(path))


def refusal(path: Path, kernel: int = 0):
    outcome = converted(path).kernels[kernel]
    assert outcome.verdict_word == "declined"
    return outcome.diagnostics[0]


def test_the_sidecar_needs_nothing_of_the_package(package):
    text = converted(package / "linear.py").sidecar_text
    tree = ast.parse(text)
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert imported == {"triton", "triton.language", "types", "tlx"}
    for line in (
        "TWICE_SQRT = tl.constexpr(1.595769122)",
        "SLOPE = TWICE_SQRT",
        "CUBIC = L.constexpr(0.044715)",
        "    return x * logistic(SLOPE * (x + CUBIC * x * x * x))",
        "activate = gelu",
        "g.same = same",
        "from triton.language import sigmoid as logistic",
    ):
        assert line in text.splitlines(), line
    assert "gelu(x):\n    return x\n" not in text, "the arm for EXAMPLE_FAST=1 is left out"
    assert "g.program_id" not in text, "the helper that asks for the program is written out"


@pytest.mark.triton
def test_the_conversion_holds_up_in_the_simulator(package):
    from tlxify.verdict import Rung
    from tlxify.verify import verify

    (kernel,) = converted(package / "linear.py").kernels
    assert kernel.conversion is not None
    verdict = verify(kernel.conversion, upto=Rung.SIMULATED)
    assert verdict.passed, verdict
    assert verdict.rung is Rung.SIMULATED


@pytest.fixture
def live(package, monkeypatch):
    """Writes the conversion into the package and imports it."""
    monkeypatch.syspath_prepend(str(package.parent))

    def imported():
        result = CliRunner().invoke(main, ["convert", str(package / "linear.py"), "--write", "--verify", "none"])
        assert result.exit_code == 0, result.output
        for name in [name for name in sys.modules if name.split(".")[0] == "example"]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        return importlib.import_module("example.linear")

    yield imported
    for name in [name for name in sys.modules if name.split(".")[0] == "example"]:
        del sys.modules[name]


def recorded(package):
    text = (package / "linear_tlx.py").read_text()
    return text.partition('fingerprint="')[2].partition('"')[0]


@pytest.mark.triton
def test_the_written_package_imports_and_the_record_is_that_of_the_live_kernel(package, live):
    from tlx.launch.fingerprint import fingerprint_of

    module = live()
    assert type(module.linear_gelu_kernel).__name__ == "Specialized"
    assert fingerprint_of(module.linear_gelu_kernel.original) == recorded(package)


@pytest.mark.triton
def test_with_the_variable_set_the_live_kernel_is_another(package, live, monkeypatch):
    from tlx.launch.fingerprint import fingerprint_of

    monkeypatch.setenv("EXAMPLE_FAST", "1")
    module = live()
    assert fingerprint_of(module.linear_gelu_kernel.original) != recorded(package)


def test_the_source_is_given_back(package, live):
    before = (package / "linear.py").read_bytes()
    CliRunner().invoke(main, ["convert", str(package / "linear.py"), "--write", "--verify", "none"])
    assert CliRunner().invoke(main, ["revert", str(package / "linear.py")]).exit_code == 0
    assert (package / "linear.py").read_bytes() == before
    assert not (package / "linear_tlx.py").exists()


@pytest.mark.parametrize(
    ("function", "product"),
    [("program_id", "x * logistic"), ("min", "min(x, x) * logistic")],
    ids=["two helpers of one name", "a helper with the name of a builtin that is needed as well"],
)
def test_one_name_for_two_things_is_declined(package, function, product):
    write(
        package,
        {"nn/logistic": f"import triton\n{IMPORT}\n@triton.jit\ndef {function}(x):\n    return tl.sigmoid(x)\n"},
    )
    text = FILES["nn/activations"].replace("import logistic", f"import {function} as logistic")
    write(package, {"nn/activations": text.replace("x * logistic", product)})
    found = refusal(package / "linear.py")
    assert found.code == "TLX107"
    assert "means different things in the files" in found.message


def test_a_constant_of_another_value_under_the_same_name_is_declined(package):
    write(package, {"nn/activations": FILES["nn/activations"].replace("return x * l", "return BLOCK * x * l")})
    assert refusal(package / "linear.py").code == "TLX107"  # it is nowhere
    for value, word in ((2, "converted"), (3, "declined")):
        text = FILES["nn/activations"].replace("return x * l", "return BLOCK * x * l")
        write(package, {"nn/activations": text.replace("CUBIC =", "BLOCK = L.constexpr(2)\nCUBIC =")})
        text = FILES["linear"].replace("@triton.autotune", f"BLOCK = tl.constexpr({value})\n\n\n@triton.autotune")
        write(package, {"linear": text.replace("activate(acc)", "activate(acc) * BLOCK")})
        assert converted(package / "linear.py").kernels[0].verdict_word == word


def test_tl_for_something_else_is_declined(package):
    text = FILES["nn/activations"].replace("language as L", "language.math as tl\nimport triton.language as L")
    write(package, {"nn/activations": text.replace("logistic(", "tl.exp(")})
    found = refusal(package / "linear.py")
    assert dict(found.facts)["name"] == "tl"


@pytest.mark.parametrize(
    ("name", "old", "new", "code"),
    [
        ("numbers", "tl.constexpr(1.595769122)", "tl.constexpr(compute())", "TLX107"),
        ("nn/activations", "return x * logistic(", "return gelu(", "TLX106"),
        ("nn/activations", "return x * logistic(", "return L.unheard_of(", "TLX317"),
        ("nn/activations", "return x * logistic(", "x = lambda y: y\n        return (", "TLX104"),
    ],
)
def test_what_is_wrong_in_another_file_is_said_about_the_call(package, name, old, new, code):
    assert old in FILES[name]
    write(package, {name: FILES[name].replace(old, new)})
    found = refusal(package / "linear.py")
    assert found.code == code
    assert "activate" in SourceFile.read(package / "linear.py").segment(found.span)


def test_two_kernels_of_one_file_must_agree(package):
    write(package, {"other": f"import triton\n{IMPORT}\n@triton.jit\ndef gelu(x):\n    return x\n"})
    second = FILES["linear"][FILES["linear"].index("@triton.autotune") :]
    second = second.replace("linear_gelu_kernel", "linear_kernel").replace("activate(", "plain(")
    text = FILES["linear"].replace("from example.nn", "from example.other import gelu as plain\nfrom example.nn")
    write(package, {"linear": f"{text}\n\n{second}"})
    found = refusal(package / "linear.py", 1)
    assert converted(package / "linear.py").kernels[0].verdict_word == "converted"
    assert dict(found.facts)["name"] == "gelu"


def test_without_the_other_files_the_name_and_the_reason_are_given(package):
    shutil.rmtree(package / "nn")
    found = refusal(package / "linear.py")
    assert found.code == "TLX107"
    assert found.message.endswith("is not a literal in the source: `example.nn` is not in this source tree.")
