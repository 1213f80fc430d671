"""The command line over the real pipeline: the corpus GEMM converts, and what cannot be is refused by name."""

from __future__ import annotations

import ast
import difflib
import json
import shutil
from pathlib import Path

import pytest

from tlxify.hook import conversions

CORPUS = Path(__file__).parents[2] / "corpus" / "gemm" / "matmul.py"
NAMES = ["03-matrix-multiplication.py", "with space.py", "1num.py", "k.v2.py"]
HEADER = "import triton\nimport triton.language as tl\n\n\n"
GEMM = """\
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, index_ptr, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        depth = k * BK + inner
        a_mask = (rows[:, None] < M) & (depth[None, :] < K)
        b_mask = (depth[:, None] < K) & (cols[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * sa + depth[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + depth[:, None] * sb + cols[None, :], mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    c_mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * sc + cols[None, :], acc.to(tl.float16), mask=c_mask)
"""
ASM = 'tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [a], tl.float16, True, 2)'
#: Code → the line of GEMM that is replaced, by what, and the text that the carets underline first.
REFUSED = {
    "TLX202": (
        "        depth = k * BK + inner",
        "        depth = tl.load(index_ptr + k * BK + inner)",
        "tl.load(a_ptr",
    ),
    "TLX302": ("    for k in range(0, tl.cdiv(K, BK)):", "    k = 0\n    if True:", "tl.dot"),
    "TLX307": (
        "        acc = tl.dot(a, b, acc)",
        f"        a = {ASM}\n        acc = tl.dot(a, b, acc)",
        "tl.inline_asm_elementwise",
    ),
    "TLX309": ("        acc = tl.dot(a, b, acc)", '        acc = tl.dot(a, b, acc, input_precision="ieee")', "tl.dot"),
}
#: Only the profit gate is against these, for they can be converted, if not so that they get faster.
GATED = ("TLX202", "TLX302", "TLX309")


@pytest.fixture
def gemm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(CORPUS, "matmul.py")
    return Path("matmul.py")


def test_analyze_says_what_limits_the_corpus_gemm(run, gemm):
    result = run("analyze", gemm)
    assert result.exit_code == 0
    assert "\nlimit: tensor cores\nlaunch         M=4096, N=8192, K=4096" in result.stdout
    assert "2 × 128 × 256 × 64 FLOP / 3410 a cycle = 1230 cycles\n" in result.stdout
    (kernel,) = json.loads(run("analyze", gemm, "--json").stdout)["files"][0]["kernels"]
    assert (kernel["limit"]["word"], kernel["limit"]["trip"]["where"]) == ("tensor cores", "line 60")
    short = run("analyze", gemm, "--shapes", "M=8192,N=8192,K=64")
    assert "\nlimit: memory\nlaunch         M=8192, N=8192, K=64" in short.stdout
    (kernel,) = json.loads(run("convert", gemm, "--json").stdout)["files"][0]["kernels"]
    assert kernel["limit"] is None, "only analyze asks"


def test_the_corpus_gemm_converts_and_nothing_is_written(run, gemm):
    before = gemm.read_bytes()
    result = run("convert", gemm, "--verify", "none")
    assert result.exit_code == 0, result.output
    listed = [line.split() for line in result.stdout.splitlines() if line[:2].isdigit()]
    roles = {int(words[0]): words[1] for words in listed if len(words) > 1}
    lines = before.decode().splitlines()
    assert {roles[n] for n, line in enumerate(lines, 1) if "= tl.load(" in line} == {"producer"}
    assert {roles[n] for n, line in enumerate(lines, 1) if "= tl.dot(" in line} == {"consumer"}
    assert {roles[n] for n, line in enumerate(lines, 1) if "tl.store(" in line} == {"epilogue"}
    assert "barriers, one per slot" in result.stdout
    assert [path.name for path in Path().iterdir()] == ["matmul.py"]
    assert gemm.read_bytes() == before


def test_the_output_is_a_module_and_converting_it_again_changes_nothing(run, gemm):
    assert run("convert", gemm, "--verify", "none", "-o", "out.py").exit_code == 0
    ast.parse(Path("out.py").read_text())
    assert run("convert", gemm, "--verify", "none", "-o", "again.py").exit_code == 0
    assert Path("out.py").read_bytes() == Path("again.py").read_bytes(), "output is deterministic"
    again = run("convert", "out.py", "--verify", "none", "-o", "third.py")
    assert again.exit_code == 0, again.output
    assert not Path("third.py").exists() or Path("third.py").read_bytes() == Path("out.py").read_bytes()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_write_adds_lines_only_and_revert_takes_them_away(run, gemm, end):
    original = gemm.read_bytes().replace(b"\n", end)
    gemm.write_bytes(original)
    assert run("convert", gemm, "--verify", "none", "--write").exit_code == 0
    before, after = (data.decode("latin-1").splitlines(keepends=True) for data in (original, gemm.read_bytes()))
    changes = list(difflib.ndiff(before, after))
    assert not [line for line in changes if line.startswith("- ")], "no line of the user's is touched"
    added = [line[2:] for line in changes if line.startswith("+ ")]
    assert [line for line in added if "tlxify" in line]
    assert all("tlxify" in line or not line.strip() for line in added), "each added line says whose it is"
    assert all(line.endswith(end.decode()) for line in added)
    ast.parse(Path("matmul_tlx.py").read_text())
    state = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert run("convert", gemm, "--verify", "none", "--write").exit_code == 0
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == state
    assert run("revert", gemm).exit_code == 0
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == {"matmul.py": original}


def test_the_kernel_that_is_varied_below_converts(run, gemm):
    gemm.write_text(HEADER + GEMM)
    result = run("convert", gemm, "--verify", "none", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["files"][0]["kernels"][0]["verdict"] == "converted"


@pytest.mark.parametrize("code", REFUSED)
def test_what_cannot_be_converted_ends_in_a_code_with_line_and_caret(run, gemm, code):
    old, new, culprit = REFUSED[code]
    assert old in GEMM
    gemm.write_text(HEADER + GEMM.replace(old, new))
    result = run("convert", gemm, "--verify", "none")
    assert result.exit_code == int(code not in GATED), result.output
    word = "unprofitable" if code in GATED else "declined"
    assert f": {word}: {code} " in result.stdout
    ungated = run("convert", gemm, "--verify", "none", "--no-profit-gate")
    assert (": declined: " in ungated.stdout) == (code not in GATED)
    assert result.stdout.count("--no-profit-gate") == int(code in GATED)
    lines = result.stdout.splitlines()
    (carets,) = (number for number, line in enumerate(lines) if set(line.strip(" |")) == {"^"})
    assert lines[carets - 1][lines[carets].index("^") :].startswith(culprit)


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("def kernel(:\n", "TLX101", 2),
        ("x = 1\n", "TLX102", 1),
        ("", "TLX102", 1),
        (HEADER + "x = '\0'\n", "TLX101", 2),
    ],
    ids=["syntax", "no-kernel", "empty", "nul"],
)
def test_files_without_a_kernel(run, gemm, text, code, status):
    gemm.write_text(text)
    result = run("convert", gemm)
    assert (result.exit_code, code in result.stdout) == (status, True), result.output


@pytest.mark.parametrize("stage", ["kernel", "facts", "plan"])
def test_each_stage_can_be_dumped(run, gemm, stage):
    result = run("dump", "--stage", stage, gemm)
    assert result.exit_code == 0, result.output
    assert "matmul_kernel" in result.stdout
    assert " object at 0x" not in result.stdout, "a dump is the same in every run"


@pytest.mark.parametrize("name", NAMES)
def test_a_file_whose_name_is_no_identifier_is_written_verified_and_reverted(run, tmp_path, name):
    file = tmp_path / name
    file.write_text(text := HEADER + GEMM)
    assert run("convert", "--write", file).exit_code == 0
    (sidecar,) = tmp_path.glob("*_tlx.py")
    assert f"import {sidecar.stem} as _specialized" in file.read_text()
    for written in (file, sidecar):
        verified = run("verify", "--upto", "protocol", written)
        assert verified.exit_code == 0, verified.output
        assert "kernel: protocol" in verified.output
    assert conversions([str(file), str(sidecar)]) == [str(file)]
    assert run("convert", "--write", file).exit_code == 0
    assert run("revert", file).exit_code == 0
    assert file.read_text() == text
    assert list(tmp_path.iterdir()) == [file]
