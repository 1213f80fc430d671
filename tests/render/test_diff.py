"""The diff that is shown is one that `git apply` takes."""

from __future__ import annotations

import subprocess

import pytest

from tlxify.render.diff import diff, unified

BEFORE = "a = 1\nb = 2\nc = 3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BEFORE, "a = 1\nb = [bold]\nc = 3\n"),
        (BEFORE, BEFORE.rstrip()),
        ("a = 1", "a = 1\nb = 2\n"),
        (BEFORE, "x\n" + BEFORE),
    ],
    ids=["changed", "last-newline-lost", "last-newline-won", "inserted"],
)
def test_it_applies(tmp_path, before, after):
    (tmp_path / "m.py").write_text(before)
    text = unified(before, after, "a/m.py", "b/m.py")
    assert diff(before, after, "a/m.py", "b/m.py").plain == text, "colour changes no character"
    subprocess.run(["git", "apply", "-"], input=text, text=True, check=True, cwd=tmp_path)
    assert (tmp_path / "m.py").read_text() == after


def test_equal_texts_have_none():
    assert unified(BEFORE, BEFORE, "a", "b") == ""
