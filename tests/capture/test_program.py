"""Whole programs under `capture`: every process and thread is counted, whatever becomes of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tlxify.capture.launches import Unusable, read
from tlxify.capture.run import capture, environment

pytestmark = pytest.mark.triton
ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(*acts, limit=100, **options):
        output = tmp_path / "launches.jsonl"
        status, found = capture([sys.executable, str(PROGRAM), *acts], output, limit=limit, **options)
        assert found == read(output), "what was written is what was found"
        assert not output.with_name("launches.jsonl.parts").exists()
        return status, found

    return run


def counts(found):
    return {(x.kernel.name, dict(x.scalars)["count"], dict(x.scalars)["BLOCK"]): x.launches for x in found.launches}


def test_each_kind_is_written_once_and_counted_by_process_and_thread(run):
    status, found = run("shapes", "threads", "forks", "tuner")
    assert (status, found.troubles) == (0, ())
    # 3 + 4 threads of 50 + 1 before the fork + 7 of the forked process
    assert counts(found) == {("copy", 200, 64): 211, ("copy", 300, 64): 2, ("tuned", 200, 64): 4}
    assert len(found.processes) == 2
    launch = found.of("copy")[0]
    assert launch.kernel.file == str(PROGRAM)
    assert launch.grid == (4,)
    assert dict(launch.scalars) == {"count": 200, "scale": 2.0, "BLOCK": 64}
    assert launch.constexprs == {"BLOCK"}
    assert dict(launch.options)["num_warps"] == 4
    assert [(x.dtype, x.shape, x.strides, x.alignment) for x in launch.tensors] == [("fp16", (200,), (1,), 16)] * 2


def test_a_killed_program_loses_no_count(run):
    status, found = run("killed")
    assert status == -9
    assert counts(found) == {("copy", 200, 64): 9}


def test_timed_launches_are_made_once_between_their_events(run):
    status, found = run("timed")
    assert (status, found.troubles) == (0, ())
    (launch,) = found.launches
    # Looked at closely are the launches 2, 8, 20, 44 and 92; the first time only the host is measured.
    assert (launch.launches, launch.times) == (100, (7.0, 19.0, 43.0, 91.0))


def test_sources_are_found_from_anywhere(run, monkeypatch):
    monkeypatch.chdir(PROGRAM.parent)
    monkeypatch.setattr("tests.capture.test_program.PROGRAM", Path(PROGRAM.name))
    _, found = run("shapes")
    assert found.launches[0].kernel.file == str(Path(__file__).with_name("program.py"))


def test_kinds_past_the_limit_are_counted_only(run):
    status, found = run("shapes", limit=1)
    assert status == 0
    assert counts(found) == {("copy", 200, 64): 3}
    assert {kernel.name: count for kernel, count in found.overflow.items()} == {"copy": 2}


def test_only_the_kernels_that_were_named(run):
    status, found = run("shapes", "tuner", "fails", kernels=["tuned"])
    assert status == 3
    assert set(counts(found)) == {("tuned", 200, 64)}


def test_parts_of_an_interrupted_capture_can_be_read(tmp_path):
    import subprocess

    folder = tmp_path / "parts"
    settings = environment(folder, {**os.environ, "PYTHONPATH": str(ROOT)}, limit=10)
    subprocess.run([sys.executable, str(PROGRAM), "shapes"], env=settings, check=True)
    whole = read(folder)
    assert sum(launch.launches for launch in whole.launches) == 5
    path = next(folder.glob("*.jsonl"))
    text = path.read_text()
    path.write_text(text[:-20])  # cut in the middle of its last line, as by a full disk
    assert len(read(folder).launches) == len(whole.launches) - 1


def test_a_sitecustomize_of_the_environment_still_runs(tmp_path):
    import subprocess

    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.own_sitecustomize = 7\n")
    settings = environment(tmp_path / "parts", {**os.environ, "PYTHONPATH": str(tmp_path)}, limit=10)
    code = "import sys; print(sys.own_sitecustomize, '_tlxify_capture.watch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=settings, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["7", "True"]
    assert not (tmp_path / "parts").exists(), "a process that launches nothing writes nothing"


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"kind": "capture", "format": 99}\n')
    with pytest.raises(Unusable, match="format 99"):
        read(path)
    path.write_text("import triton\n")
    with pytest.raises(Unusable, match="no record"):
        read(path)
