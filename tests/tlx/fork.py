"""Sources of Meta's TLX tutorials, read from an fbtriton wheel if there is one on this machine.

Nothing of them is kept here. ``FBTRITON`` names the wheel, a folder it was unpacked into, or an environment with it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import types
import zipfile
from pathlib import Path

import pytest
from triton.backends.compiler import GPUTarget

FOLDER = "triton/language/extra/tlx/tutorials"


class NoGpu:
    """Just enough of a driver for tutorials to be imported: they ask for the device at once."""

    def __init__(self, arch):
        self.arch = arch

    def get_current_target(self):
        return GPUTarget("cuda", self.arch, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_active_torch_device(self):
        return "cuda"

    def get_device_interface(self):
        return Anything()

    def map_python_to_cpp_type(self, ty):
        return ty


class Anything:
    """Stands for torch where it is missing: tutorials name it at import, but kernels do not need it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args, **kwargs):
        return Anything()

    def __getitem__(self, key):
        return Anything()

    def __ge__(self, other):
        return False

    __gt__ = __le__ = __lt__ = __ge__

    def __mro_entries__(self, bases):
        return ()


def stand_in_for_torch():
    """A module that answers to every attribute."""
    module = types.ModuleType("torch")
    module.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    anything = Anything()
    module.__getattr__ = lambda name: getattr(anything, name)
    return module


def source(name):
    """Text of a tutorial; skips the test where no wheel is at hand."""
    where = os.environ.get("FBTRITON")
    if not where:
        pytest.skip("FBTRITON does not name an fbtriton wheel")
    inside = f"{FOLDER}/{name}.py"
    if Path(where).is_dir():
        found = next(Path(where).glob(f"**/{inside}"), None)
        assert found is not None, f"FBTRITON is {where}, which has no {inside}"
        return found.read_text(encoding="utf-8")
    with zipfile.ZipFile(where) as wheel:
        return wheel.read(inside).decode()


def load(name, folder, monkeypatch):
    """A tutorial as a module, executed from a copy in ``folder``."""
    path = folder / f"{name}.py"
    path.write_text(source(name), encoding="utf-8")
    if importlib.util.find_spec("torch") is None:
        monkeypatch.setitem(sys.modules, "torch", stand_in_for_torch())
    unit = f"fork_{name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(unit, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, unit, module)
    spec.loader.exec_module(module)
    return module
