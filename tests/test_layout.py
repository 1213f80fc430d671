"""Line lengths come from the nearest project file, and from nowhere else."""

from __future__ import annotations

import pytest

from tlxify.layout import DEFAULT, line_length


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("[tool.black]\nline-length = 100\n", 100),
        ("[tool.ruff]\nline-length = 120\n", 120),
        ("[tool.ruff]\nline-length = 120\n[tool.black]\nline-length = 99\n", 99),
        ("[tool.black]\nline-length = 'wide'\n[tool.ruff]\nline-length = 79\n", 79),
        ("[project]\nname = 'x'\n", DEFAULT),
        ("[tool.black\n", DEFAULT),
        ("", DEFAULT),
    ],
)
def test_what_a_project_says(tmp_path, text, length):
    (tmp_path / "pyproject.toml").write_text(text)
    assert line_length(tmp_path / "kernels" / "matmul.py") == length


def test_the_nearest_project_decides(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.black]\nline-length = 100\n")
    assert line_length(inner / "kernel.py") == 100
    (inner / "pyproject.toml").write_text("")
    assert line_length(inner / "kernel.py") == DEFAULT
    assert line_length(tmp_path / "kernel.py") == 100


def test_a_file_of_other_bytes_says_nothing(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")
    assert line_length(tmp_path / "kernel.py") == DEFAULT
