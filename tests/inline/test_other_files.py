"""A kernel whose dot loop, store and program id stand in helpers of another file, up to the live package."""

from __future__ import annotations

import ast
import importlib
import sys

import pytest
from click.testing import CliRunner

from tests.test_cross_module import write
from tlxify import convert
from tlxify.cli import main
from tlxify.diagnostics import render
from tlxify.source import SourceFile

LOOP = '''"""Parts of kernels."""

import triton
import triton.language as L
from triton.language import program_id

SCALE = L.constexpr(0.5)


@triton.jit
def scaled(x):
    return x * SCALE


@triton.jit
def place(BLOCK_M: L.constexpr, BLOCK_N: L.constexpr):
    return program_id(0) * BLOCK_M + L.arange(0, BLOCK_M), program_id(1) * BLOCK_N + L.arange(0, BLOCK_N)


@triton.jit
def multiply(acc, a_ptr, b_ptr, rows, cols, K, BLOCK_K: L.constexpr):
    """Adds A times B.

    With more to say.
    """
    depth = L.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * K + depth[None, :]
    for k in range(0, K, BLOCK_K):
        a = L.load(a_ptrs, mask=depth[None, :] + k < K, other=0.0)
        b = L.load(b_ptr + cols[:, None] * K + depth[None, :] + k, mask=depth[None, :] + k < K, other=0.0)
        acc = L.dot(a, b.T, acc)  # the work
        a_ptrs += BLOCK_K
    return scaled(acc) * SCALE


@triton.jit
def finish(c_ptr, value, rows, cols, M, N):
    if M == 0:
        return  # nothing to store
    L.store(c_ptr + rows[:, None] * N + cols[None, :], value.to(L.float16), (rows[:, None] < M) & (cols[None, :] < N))
'''
KERNEL = '''import triton
import triton.language as tl

from example.parts import finish, multiply as times, place

SCALE = tl.constexpr(3.0)


@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    """A (M, K), B (N, K), C (M, N)."""
    rows, cols = place(BLOCK_M, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    acc = times(acc, a_ptr, b_ptr, rows % M, cols % N, K, BLOCK_K)
    finish(c_ptr, acc, rows, cols, M, N)


def launch(a, b, c):
    kernel[(1, 1)](a, b, c, *c.shape, a.shape[1], BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package `example`; it can be imported while the test runs."""
    write(tmp_path / "example", {"__init__": "", "parts": LOOP, "matmul": KERNEL})
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "example"
    for name in [name for name in sys.modules if name.split(".")[0] == "example"]:
        del sys.modules[name]


def outcome(package):
    conversion = convert(SourceFile.read(package / "matmul.py"))
    (kernel,) = conversion.kernels
    return conversion, kernel


def test_it_is_converted_and_needs_only_what_is_still_called(package):
    conversion, kernel = outcome(package)
    assert kernel.verdict_word == "converted", [d.message for d in kernel.diagnostics]
    functions = {n.name for n in ast.walk(ast.parse(conversion.sidecar_text)) if isinstance(n, ast.FunctionDef)}
    assert "scaled" in functions
    assert not functions & {"multiply", "times", "place", "finish"}
    for comment in ("# Adds A times B.", "# the work"):
        assert comment in conversion.sidecar_text


def test_the_name_of_a_constant_of_the_other_file_is_told_from_the_users(package):
    text = KERNEL.replace("acc, rows, cols, M, N)", "acc * SCALE, rows, cols, M, N)")
    write(package, {"matmul": text})
    conversion, kernel = outcome(package)
    # Both are called SCALE where they are defined: no one file can hold them.
    assert [d.code for d in kernel.diagnostics] == ["TLX107"]
    write(package, {"matmul": text.replace("SCALE", "FACTOR").replace("\n\n\ndef launch", "\n\n\ndef launch")})
    conversion, kernel = outcome(package)
    assert kernel.verdict_word == "converted"
    assert "from example.parts import SCALE" in conversion.module_text


@pytest.mark.triton
def test_it_holds_up_in_the_simulator(package):
    from tlxify.verdict import Rung
    from tlxify.verify import verify

    _, kernel = outcome(package)
    verdict = verify(kernel.conversion, upto=Rung.SIMULATED)
    assert verdict.passed, verdict
    assert verdict.rung is Rung.SIMULATED


@pytest.mark.triton
@pytest.mark.parametrize("how", ["--write", "-o"])
def test_the_live_kernel_has_the_recorded_fingerprint_until_a_helper_changes(package, how):
    from tlx.launch.fingerprint import fingerprint_of

    target = package / "matmul_one.py"
    where = ["--write"] if how == "--write" else ["-o", str(target)]
    result = CliRunner().invoke(main, ["convert", str(package / "matmul.py"), *where, "--verify", "none"])
    assert result.exit_code == 0, result.output
    text = (package / "matmul_tlx.py" if how == "--write" else target).read_text()
    recorded = text.partition('fingerprint="')[2].partition('"')[0]
    module = importlib.import_module("example.matmul" if how == "--write" else "example.matmul_one")
    assert module.kernel.original is not module.kernel
    assert fingerprint_of(module.kernel.original) == recorded
    write(package, {"parts": LOOP.replace("SCALE = L.constexpr(0.5)", "SCALE = L.constexpr(0.25)")})
    for name in [name for name in sys.modules if name.split(".")[0] == "example"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    again = importlib.import_module("example.matmul")
    original = getattr(again.kernel, "original", again.kernel)
    assert fingerprint_of(original) != recorded


def test_the_role_map_names_the_lines_of_both_files(package):
    _, kernel = outcome(package)
    lines = {(line.file or "matmul.py").rpartition("/")[2]: [] for line in kernel.roles}
    assert set(lines) == {"matmul.py", "parts.py"}
    texts = {"matmul.py": KERNEL.splitlines(), "parts.py": LOOP.splitlines()}
    for line in kernel.roles:
        name = (line.file or "matmul.py").rpartition("/")[2]
        if "dot(" in line.text or line.text.strip().startswith("for "):
            assert line.text.strip() == texts[name][line.line - 1].strip().replace("L.", "tl.")
            assert "consumer" in line.roles


def test_a_refusal_names_the_line_of_the_helper_and_its_file(package):
    write(package, {"parts": LOOP.replace("other=0.0)\n        b =", "other=1.0)\n        b =")})
    conversion, kernel = outcome(package)
    (found,) = kernel.diagnostics
    assert found.code == "TLX205"
    text = render(found, conversion.source)
    assert text.startswith(f"{package / 'parts.py'}:")
    assert "a = L.load(a_ptrs, mask=depth[None, :] + k < K, other=1.0)" in text
    result = CliRunner().invoke(main, ["convert", str(package / "matmul.py"), "--verify", "none"])
    assert "parts.py:" in result.output.replace("\n", "")


def test_a_skip_comment_on_the_kernel_also_speaks_of_its_helpers(package):
    from tlxify.suppress import apply

    write(package, {"parts": LOOP.replace("other=0.0)\n        b =", "other=1.0)\n        b =")})
    write(
        package,
        {
            "matmul": KERNEL.replace(
                "@triton.jit\ndef kernel(", "@triton.jit  # tlxify: skip[TLX205] known\ndef kernel("
            )
        },
    )
    conversion, _ = outcome(package)
    assert not apply(conversion).kernels[0].diagnostics
