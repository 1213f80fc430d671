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
    #: Where the source kernel's own module lies, and the path that people know.
    first: tuple[str, str] | None = None

    @property
    def source(self) -> Any:
        """The kernel as the user wrote it."""
        return self.bound.original

    def shown(self, text: str) -> str:
        """`text` with the paths that people know."""
        text = text.replace(self.path, self.conversion.file)
        return text if self.first is None else text.replace(*self.first)


def load(conversion: Conversion) -> Loaded:
    """Writes the module to a temporary folder and imports it; of two versions of a kernel, both.

    Raises:
        Exception: whatever the module raises; AttributeError and TypeError where it lacks the kernel's binding.
    """
    if conversion.source_text:
        return _load_apart(conversion)
    module, path = _imported(conversion.module_text, conversion.file)
    bound = getattr(module, conversion.kernel)
    if not hasattr(bound, "resolve"):
        raise TypeError(f"{conversion.kernel} is not bound to tlx.specialized(...) in {conversion.file}")
    return Loaded(conversion, path, bound)


def _load_apart(conversion: Conversion) -> Loaded:
    """A source kernel and what is to be judged from modules of their own: neither sees the other's names."""
    import tlx

    version = conversion.version
    if version is not None and any("import tlx" in text for text in (conversion.source_text, conversion.module_text)):
        tlx.install()  # sources that say `@triton.jit` and import the fork's name of tlx
    first, place = _imported(conversion.source_text, conversion.source_file)
    second, path = _imported(conversion.module_text, conversion.file)
    original = getattr(first, conversion.kernel)
    if version is None:
        bound = getattr(second, conversion.specialize)(original)
    else:
        from .versions import Candidate

        converted = getattr(second, conversion.converted or conversion.kernel)
        bound = Candidate(original, converted, version, conversion.contract)
    return Loaded(conversion, path, bound, (place, conversion.source_file))


def _imported(text: str, file: str) -> tuple[Any, str]:
    """A module of that text, and where it lies."""
    folder = Path(tempfile.mkdtemp(prefix="tlxify-"))
    path = folder / (Path(file).name or "module.py")
    path.write_text(text, encoding="utf-8")
    name = f"_verified_{path.stem}_{folder.name}".replace("-", "_").replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TypeError(f"{file} is not the name of a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module, str(path)
