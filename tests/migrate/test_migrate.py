"""`tlxify migrate` on trees: verdicts, reports, what is written, exit status."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tlxify.cli import main
from tlxify.migrate.run import Request, migrate
from tlxify.migrate.work import Work, record
from tlxify.source import SourceFile

from .conftest import GEMM, NO_DOT, kernel


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["migrate", *map(str, words)])


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package with a matrix product and a kernel without a dot."""
    folder = tmp_path / "tree"
    (folder / "ops").mkdir(parents=True)
    (folder / "ops" / "gemm.py").write_text(GEMM)
    (folder / "scale.py").write_text(NO_DOT)
    (folder / "data.bin").write_bytes(b"\x00\xff")
    return folder


def test_a_dry_run_reports_and_writes_nothing(tree: Path):
    before = snapshot(tree)
    result = run(tree)
    assert result.exit_code == 0, result.output
    assert "2 kernels in 2 files: 1 converted, 1 no-dot" in result.stdout
    assert snapshot(tree) == before


def test_the_report_names_every_kernel(tree: Path, tmp_path: Path):
    assert run(tree, "--report-json", tmp_path / "report.json").exit_code == 0
    data = json.loads((tmp_path / "report.json").read_text())
    assert sorted(data) == ["kernels", "schema", "summary", "tool"]
    keys = ["codes", "family", "file", "kernel", "line", "output", "rung", "verdict"]
    assert [sorted(item) for item in data["kernels"]] == [keys, keys]
    gemm, scale = data["kernels"]
    assert (gemm["verdict"], gemm["family"], gemm["codes"], gemm["rung"]) == ("converted", "GEMM", [], None)
    assert (scale["verdict"], scale["family"], scale["codes"]) == ("no-dot", "no dot", ["TLX301"])
    assert data["summary"]["verdicts"] == {"converted": 1, "no-dot": 1}


HELPERS = """
import triton
import triton.language as tl


@triton.jit
def inner(x):
    return x + 1


if True:
    @triton.jit
    def outer(x, KIND: tl.constexpr):
        return inner(x)
"""


def test_helpers_alone_are_no_kernels(tree: Path):
    (tree / "helpers.py").write_text(HELPERS)
    result = run(tree)
    assert result.exit_code == 0, result.output
    assert "2 kernels in 3 files: 1 converted, 1 no-dot" in result.stdout


def test_kernels_in_classes_are_listed_also_beside_helpers(tmp_path: Path):
    held = NO_DOT.replace("@triton.jit", "class Holder:\n    @triton.jit").partition("    @")
    (tmp_path / "held.py").write_text(held[0] + held[1] + held[2].replace("\n", "\n    ") + "\n" + HELPERS)
    (kernel,) = record(Work(str(tmp_path / "held.py"))).kernels
    assert (kernel.kernel, kernel.verdict, kernel.codes) == ("scale", "no-dot", ("TLX301",))


def test_a_converted_copy_holds_everything_and_leaves_the_tree(tree: Path, tmp_path: Path):
    before = snapshot(tree)
    (tree / "__pycache__").mkdir()
    result = run(tree, "--output-dir", tmp_path / "out")
    assert result.exit_code == 0, result.output
    after = snapshot(tmp_path / "out")
    assert sorted(after) == sorted([*before, "ops/gemm_tlx.py"])
    assert {name for name in before if before[name] != after[name]} == {"ops/gemm.py"}
    compile(after["ops/gemm.py"], "gemm.py", "exec")
    assert snapshot(tree) == before


def test_a_tree_may_get_descriptors_alone(tree: Path, tmp_path: Path):
    case = Path(__file__).parents[1] / "cases" / "descriptors" / "no_dot.py"
    (tree / "turned.py").write_text(case.read_text().partition("# output")[0])
    result = run(tree, "--tier", "descriptors", "--output-dir", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (place,) = (tmp_path / "out").rglob("turned_tlx.py")
    written = place.read_text()
    assert "x_desc.load([i * BLOCK_M, j * BLOCK_N])" in written
    assert "tlx.Schedule(plain=True)" in written
    assert "make_block_ptr" not in written


def test_a_copy_never_writes_over_a_file_of_yours(tree: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    (tree / "ops" / "gemm_tlx.py").write_text("mine = 1\n")
    for name in ("03-gemm.py", "a-b.py", "a b.py"):
        (tree / name).write_text(GEMM)
    result = run(tree, "--output-dir", copy)
    assert result.exit_code == 1
    assert result.stdout.count("TLX122") == 2
    assert (copy / "ops" / "gemm_tlx.py").read_text() == "mine = 1\n"
    assert (copy / "ops" / "gemm.py").read_text() == GEMM
    assert "import _03_gemm_tlx as _specialized" in (copy / "03-gemm.py").read_text()
    (bound,) = [name for name in ("a-b.py", "a b.py") if "_a_b_tlx" in (copy / name).read_text()]
    assert f"edit {bound} and" in (copy / "_a_b_tlx.py").read_text()


def test_the_copy_must_be_a_place_of_its_own(tree: Path, tmp_path: Path):
    for place in (tree / "out", tree, tmp_path):
        assert run(tree, "--output-dir", place).exit_code == 2
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    assert run(tree, "--output-dir", tmp_path / "full").exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "tree"]


@pytest.mark.parametrize("place", ["file/below", "n" * 300, "locked/out"])
def test_a_place_that_cannot_be_written_is_no_fault_of_ours(tree: Path, tmp_path: Path, place: str, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "locked").mkdir()
    real = tempfile.mkdtemp

    def mkdtemp(*words, dir, **more):
        if Path(dir).name == "locked":  # whoever runs the tests may be allowed everything
            raise PermissionError(13, "Permission denied", str(dir))
        return real(*words, dir=dir, **more)

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    result = run(tree, "--output-dir", tmp_path / place)
    assert result.exit_code == 2
    assert "internal error" not in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "locked", "tree"]
    result = run(tree, "--report-json", tmp_path / "nowhere" / "report.json")
    assert (result.exit_code, "there is no folder" in result.output) == (2, True)


def test_a_rung_that_cannot_be_tried_here_is_said_by_its_code(tree: Path, monkeypatch: pytest.MonkeyPatch):
    from tlxify import verify as package
    from tlxify.migrate.report import Summary
    from tlxify.render.migration import headline
    from tlxify.verdict import Rung, Verdict

    skipped = ("TLX605 no launch on a GPU: torch is not installed",)
    monkeypatch.setattr(package, "verify", lambda item, upto: Verdict(item.kernel, Rung.COMPILED, (), skipped=skipped))
    found = record(Work(str(tree / "ops" / "gemm.py"), upto="ran"))
    (one,) = found.kernels
    assert (one.verdict, one.codes, one.rung, one.passed) == ("converted", ("TLX605",), "compiled", False)
    text = headline(Summary.of([found])).plain
    assert "1 could not be verified as far as asked" in text
    assert "failed verification" not in text


def test_writing_in_place_keeps_backups_and_a_second_run_changes_nothing(tree: Path):
    before = snapshot(tree)
    assert run(tree, "--write").exit_code == 0
    after = snapshot(tree)
    assert sorted(set(after) - set(before)) == ["ops/gemm.py.orig", "ops/gemm_tlx.py"]
    assert after["ops/gemm.py.orig"] == before["ops/gemm.py"]
    assert run(tree, "--write").exit_code == 0
    assert snapshot(tree) == after


def test_what_cannot_be_written_is_a_finding_and_the_rest_goes_on(tree: Path):
    (tree / "gemm.py").write_text(GEMM)
    (tree / "gemm_tlx.py").write_text("mine = True\n")
    result = run(tree, "--write")
    assert result.exit_code == 1
    assert "TLX122" in result.stdout
    assert (tree / "gemm_tlx.py").read_text() == "mine = True\n"
    assert (tree / "ops" / "gemm_tlx.py").exists()


def test_broken_files_are_findings_and_the_others_are_done(tree: Path):
    (tree / "syntax.py").write_text("import triton\ndef f(:\n")
    (tree / "latin.py").write_bytes(b"import triton\n# caf\xe9\n")
    (tree / "loop").symlink_to(tree, target_is_directory=True)
    (tree / "generated.py").write_text((tree / "ops" / "gemm.py").read_text())
    shutil.copy(Path(__file__).parents[2] / "corpus" / "gemm" / "golden" / "matmul_tlx.py", tree / "sidecar.py")
    result = run(tree)
    assert result.exit_code == 1
    assert "syntax.py: TLX101" in result.stdout
    assert "latin.py: TLX101" in result.stdout
    assert "sidecar.py" not in result.stdout, "what tlxify made is skipped without a word"
    assert "2 converted" in result.stdout


def test_an_unreadable_file_is_a_finding(tree: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: object) -> SourceFile:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(SourceFile, "read", staticmethod(refuse))
    found = record(Work(str(tree / "scale.py")))
    assert [(item.code, "Permission denied" in item.message) for item in found.findings] == [("TLX101", True)]


def test_kernels_share_a_helper_of_another_file(tree: Path):
    helper = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef scaled(acc):\n    return acc * 2.0\n"
    (tree / "__init__.py").touch()
    (tree / "helpers.py").write_text(helper)
    lines = GEMM.replace("import triton\n", "import triton\nfrom .helpers import scaled\n", 1)
    head, separator, tail = lines.rpartition("    c = ")
    assert separator, "the matrix product of the corpus names its result c"
    for name in ("one.py", "two.py"):
        (tree / name).write_text(f"{head}    acc = scaled(acc)\n{separator}{tail}")
    result = run(tree, "--report-json", tree / "report.json")
    data = json.loads((tree / "report.json").read_text())
    verdicts = {Path(item["file"]).name: item["verdict"] for item in data["kernels"]}
    assert (verdicts["one.py"], verdicts["two.py"]) == ("converted", "converted"), result.stdout


def test_a_fault_of_ours_ends_with_status_2_and_the_others_are_reported(tree: Path, sabotage):
    (tree / "bad.py").write_text(kernel("crashes"))
    result = run(tree)
    assert result.exit_code == 2
    assert "TLX120" in result.stdout
    assert "crashes" in result.stdout
    assert "1 converted, 1 declined, 2 no-dot" in result.stdout


@pytest.mark.parametrize("write", [False, True], ids=["copy", "in place"])
def test_an_interrupted_run_leaves_no_half_written_file(tree: Path, tmp_path: Path, write: bool):
    before = snapshot(tree)
    output = None if write else tmp_path / "out"

    def interrupt(done: int, of: int, text: str) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(Request((tree,), output=output, write=write), interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]
    for name, data in snapshot(tree).items():
        if name in before:
            assert data == before[name] or b"gemm_tlx" in data
        else:
            compile(data, name, "exec")


def test_a_kernel_that_fails_verification_is_not_written(tree: Path, monkeypatch: pytest.MonkeyPatch):
    from tlxify import verify as package
    from tlxify.verdict import Evidence, Rung, Verdict

    race = Evidence(Rung.SIMULATED, False, "race", "slot 0 of a_ring")
    monkeypatch.setattr(package, "verify", lambda item, upto: Verdict(item.kernel, Rung.PROTOCOL, (race,)))
    found = record(Work(str(tree / "ops" / "gemm.py"), upto="simulated"))
    (one,) = found.kernels
    assert (one.verdict, one.codes, one.rung, one.passed) == ("converted", ("TLX601",), "protocol", False)
    assert "slot 0 of a_ring" in one.message
    assert found.texts is None
    assert found.reportable


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(("sent", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_the_run_and_its_children_and_leaves_no_copy(
    tree: Path, tmp_path: Path, sabotage, sent: str, status: int
):
    (tree / "a.py").write_text(kernel("hangs"))
    output = tmp_path / "out"
    words = [sys.executable, "-c", "from tlxify.cli import main; main()", "migrate", tree, "--output-dir", output]
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([os.environ["PYTHONPATH"], root])
    process = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE)
    with process:
        deadline = time.monotonic() + 60
        while len(children(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        started = children(process.pid)
        assert started, "no child was ever started"
        process.send_signal(getattr(signal, sent))
        assert process.wait(timeout=30) == status
    assert not [pid for pid in started if alive(pid)]
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def children(parent: int) -> list[int]:
    """Processes that a process started, whichever of its threads did."""
    found = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except FileNotFoundError:
        return False
