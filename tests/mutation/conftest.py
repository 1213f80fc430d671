"""Breaking kernels needs the simulator, and so a Triton wheel."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent

collect_ignore_glob = [] if importlib.util.find_spec("triton") else ["*.py"]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.triton)
