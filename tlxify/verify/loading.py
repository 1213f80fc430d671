"""Imports a conversion's module. Only ever called in a child process: this is where foreign code starts to run."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..conversion import Conversion


@dataclass(frozen=True, slots=True)
class Loaded:
    """A conversion as live objects."""

    conversion: Conversion
    #: Where its text lies in this process: Triton reads sources from disk.
    path: str
    #: What `tlx.specialized` made of the kernel.
    bound: Any

    @property
    def source(self) -> Any:
        """The kernel as the user wrote it."""
        return self.bound.original

    def shown(self, text: str) -> str:
        """`text` with the path that people know."""
        return text.replace(self.path, self.conversion.file)


def load(conversion: Conversion) -> Loaded:
    """Writes the module to a temporary folder and imports it.

    Raises:
        Exception: whatever the module raises; AttributeError and TypeError where it lacks the kernel's binding.
    """
    folder = Path(tempfile.mkdtemp(prefix="tlxify-"))
    path = folder / (Path(conversion.file).name or "module.py")
    path.write_text(conversion.module_text, encoding="utf-8")
    name = f"_verified_{path.stem}".replace("-", "_").replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TypeError(f"{conversion.file} is not the name of a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    bound = getattr(module, conversion.kernel)
    if not hasattr(bound, "resolve"):
        raise TypeError(f"{conversion.kernel} is not bound to tlx.specialized(...) in {conversion.file}")
    return Loaded(conversion, str(path), bound)
