"""Python modules from a file or from text, outside of any package."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any


def from_file(name: str, path: Path) -> Any:
    """The file as a module of that name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def from_text(name: str, text: str) -> Any:
    """The text as a module; it gets a file, which Triton reads the source of kernels from."""
    path = Path(tempfile.mkdtemp()) / f"{name}.py"
    path.write_text(text)
    return from_file(name, path)
