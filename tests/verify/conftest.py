"""These tests simulate and compile: without a Triton wheel there is nothing to test but the protocol check."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile

import pytest

from tlxify.job import paired

#: What stands above each version of a `pair`.
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"

collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["test_[!p]*.py"]


@pytest.fixture(autouse=True, scope="session")
def folder_for_modules(tmp_path_factory):
    """Modules that are loaded here, not in a child, lie in pytest's folder, which it cleans."""
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path_factory.mktemp("modules"))
    yield
    tempfile.tempdir = before


@pytest.fixture(autouse=True)
def triton_as_it_is():
    """Verifying a version that uses TLX changes what `triton.jit` makes; in a child for good, here for one test."""
    yield
    if (tlx := sys.modules.get("tlx")) is not None:
        tlx.uninstall()


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """Makes a pair, old.py and new.py, of the texts of two functions of one name."""
    monkeypatch.chdir(tmp_path)

    def made(old: str, new: str):
        for name, text in (("old.py", old), ("new.py", new)):
            (tmp_path / name).write_text(HEAD + text)
        outcome = paired(tmp_path / "old.py", tmp_path / "new.py", re.match(r"def (\w+)", old)[1], None)
        assert not outcome.diagnostics, [item.message for item in outcome.diagnostics]
        return outcome.kernels[0].conversion

    return made
