"""These tests simulate and compile: without a Triton wheel there is nothing to test but the protocol check."""

from __future__ import annotations

import importlib.util
import sys
import tempfile

import pytest

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
