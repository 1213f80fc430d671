"""The modules of Meta's package, as far as sources import from them: ``mem_ops``, ``mma_ops``, ``warp_spec`` ...

Its files are not ours. While ``tlx.install()`` holds, each of its module names is a view: whatever is asked of it is
found in this package, wherever it is defined here. ``types`` and ``utility`` are files here as well, which find what
they do not define in the same way.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from .unsupported import INTERNAL

#: the fork's name of the package, and its modules that sources import from
FORK_PACKAGE = "triton.language.extra.tlx"
FORK_MODULES = (
    "async_task_utils barrier compiler compiler.code_generator compiler.dispatch dynamic_launch mem_ops mma_ops "
    "mxfp8_utils types utility warp_ops warp_pipeline warp_spec"
).split()

#: files of ours that define more of what the fork's modules hold than the package exports
_FILES = ("utility", "mxfp8", "types")


def lookup(module: str, name: str) -> Any:
    """What ``name`` of the fork's ``module`` is here.

    Raises:
        AttributeError: nothing.
    """
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    package = importlib.import_module(__package__)
    if name in vars(package) or name in dir(package):
        return getattr(package, name)
    for file in _FILES:
        held = vars(importlib.import_module(f"{__package__}.{file}"))
        if name in held:
            return held[name]
    if name in INTERNAL:
        return INTERNAL[name]
    raise AttributeError(
        f"tlx has no {name}: {module.removeprefix(FORK_PACKAGE + '.')} is a module of Meta's TLX, of which tlx has the "
        "names that kernels use"
    )


def view(name: str) -> ModuleType:
    """A module of the fork: the names of this package, whatever file they are in here."""
    module = ModuleType(name, f"Stands for Meta's {name}.")
    module.__tlx__ = True  # type: ignore[attr-defined]
    module.__getattr__ = lambda attribute: lookup(name, attribute)  # type: ignore[method-assign]
    if any(other.startswith(name.removeprefix(FORK_PACKAGE + ".") + ".") for other in FORK_MODULES):
        module.__path__ = []
    return module


def installed_view(name: str) -> ModuleType:
    """The view that ``tlx.<name>`` is.

    Raises:
        AttributeError: ``tlx.install()`` does not hold.
    """
    found = sys.modules.get(f"{FORK_PACKAGE}.{name}")
    if found is None or not getattr(found, "__tlx__", False):
        raise AttributeError(f"tlx.{name} is a module of Meta's TLX: call tlx.install() first, which stands in for it")
    return found
