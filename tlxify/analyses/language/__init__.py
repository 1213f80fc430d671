"""What each function of `triton.language` does to values: one family per file, found by walking this package."""

from __future__ import annotations

import importlib
import pkgutil

from .registry import HANDLERS, LANGUAGE, Call

__all__ = ["HANDLERS", "LANGUAGE", "Call"]

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
