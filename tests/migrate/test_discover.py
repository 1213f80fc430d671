"""Which files of a tree are read."""

from __future__ import annotations

import os
from pathlib import Path

from tlxify.migrate.discover import discover


def names(*paths: Path) -> list[str]:
    return [found.path.name for found in discover(paths)]


def test_noise_is_left_out_and_the_order_is_stable(tmp_path: Path):
    for place in ("b/two.py", "a/one.py", "__pycache__/x.py", ".hidden/x.py", "build/x.py", "env/lib/x.py", "a/.x.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("import triton\n")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "plain.py").write_text("import os\n")
    (tmp_path / "notes.txt").write_text("triton\n")
    (tmp_path / "one_tlx.py").write_text("import triton\n")
    assert names(tmp_path) == ["one.py", "two.py"]


def test_a_file_that_is_named_is_taken_as_it_is(tmp_path: Path):
    path = tmp_path / ".hidden.py"
    path.write_text("pass\n")
    assert names(path) == [".hidden.py"]


def test_a_loop_of_links_ends_and_no_file_comes_twice(tmp_path: Path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "one.py").write_text("import triton\n")
    (inner / "loop").symlink_to(tmp_path, target_is_directory=True)
    (inner / "self.py").symlink_to("self.py")
    (inner / "again.py").symlink_to("one.py")
    assert names(tmp_path, inner, inner / "one.py") == ["one.py"]


def test_a_pipe_is_never_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    assert names(tmp_path) == []
