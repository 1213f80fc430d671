"""Runs at the start of every Python process of a captured program, for its folder comes first on PYTHONPATH.

A `sitecustomize` that the environment has of its own runs as well.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_NAME = "_tlxify_capture"


def _begin() -> None:
    package = _HERE.parent
    spec = importlib.util.spec_from_file_location(
        _NAME, package / "__init__.py", submodule_search_locations=[str(package)]
    )
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    importlib.import_module(f"{_NAME}.watch").begin()


def _other() -> None:
    """The next `sitecustomize` on the path, which this one hides."""
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_begin()
_other()
